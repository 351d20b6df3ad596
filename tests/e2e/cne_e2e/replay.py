"""The requests of TPC-H, captured from a real driver, run again in one process without scheduler, executors and JVM.

    python -m cne_e2e.replay [--scale 0.01]      # last line `N/N equal`: the rows of the replay against plain Spark's
"""
import argparse
import shutil
import sys
from pathlib import Path

from . import golden, paths, pool, queries, semantics, session, tpch
from .compare import Answer, difference
from .values import encode_rows

CAPTURES = paths.CACHE / "captures"


def capture(folder: Path, scale: str) -> None:
    """Runs the queries on a pool; the folder gets each one's requests, named by number and query."""
    shutil.rmtree(folder, ignore_errors=True)
    with pool.temporary() as p:
        spark = session.classic(session.pool_conf(p.url) | {"spark.comet.nativeExecutors.captureDir": str(folder)})
        session.tpch_views(spark, scale)
        for name, text in queries.tpch().items():
            spark.sparkContext.setJobDescription(name)
            spark.sql(text).collect()
        spark.stop()


def replay(folder: Path) -> None:
    """Runs every request; its rows go to a file beside it."""
    print(semantics.tool("replay", str(folder)), end="", flush=True)


def rows(folder: Path, name: str) -> list:
    """The rows of a query's last request: those before it are its subqueries."""
    import pyarrow as pa

    file = sorted(folder.glob(f"*-{name}.arrow"))[-1]
    with pa.ipc.open_file(file) as reader:
        return encode_rows([tuple(row.values()) for row in reader.read_all().to_pylist()])


def main() -> int:
    """Captures, replays and compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="0.01")
    args = parser.parse_args()
    pool.interruptible()
    folder = CAPTURES / f"tpch-{args.scale}"
    want, _ = golden.tpch_answers(args.scale)
    capture(folder, args.scale)
    replay(folder)
    results = []
    for name, answer in want.items():
        got = rows(folder, name)
        # Columns of a replay have no names.
        found = difference(answer, Answer(schema=answer.schema, rows=got))
        results.append(tpch.Result(name, len(got), 0, found))
        print(f"{name:<4} {len(got):>6} rows  {found or 'equal'}", flush=True)
    print(tpch.summary(results), flush=True)
    return 0 if all(r.difference is None for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
