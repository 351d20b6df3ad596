"""Runs TPC-H's queries in the driver's container and compares the answers with plain Spark's, which are mounted: the last line is `N/N equal`.

spark-submit demo_driver.py, with /data (tables) and /run/pool/{queries,answers}.json
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, "/demo/e2e")

from cne_e2e import paths, session, tpch  # noqa: E402
from cne_e2e.compare import Answer  # noqa: E402

POOL = Path("/run/pool")


def main() -> int:
    """Runs every query; 1 where an answer is not Spark's."""
    texts = json.loads((POOL / "queries.json").read_text())
    answers = {name: Answer(**found) for name, found in json.loads((POOL / "answers.json").read_text()).items()}
    spark = session.attach()
    for table in paths.TABLES["tpch"]:
        spark.read.parquet(f"/data/{table}").createOrReplaceTempView(table)
    results = []
    print(f"{'query':<6} {'rows':>6} {'pool s':>8}  result", flush=True)
    for name, text in texts.items():
        result = tpch.check(spark, name, answers[name], text)
        results.append(result)
        print(f"{name:<6} {result.rows:>6} {result.seconds:>8.2f}  {result.difference or 'equal'}", flush=True)
    spark.stop()
    print(tpch.summary(results), flush=True)
    return 0 if all(result.difference is None for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
