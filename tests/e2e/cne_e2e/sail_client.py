"""Runs TPC-H on a Sail server; a script for Sail's Python environment, without this package. Job on stdin, one JSON line per query."""
import json
import sys
import time

from pyspark.sql import SparkSession

job = json.load(sys.stdin)
for attempt in range(120):
    try:
        spark = SparkSession.builder.remote(job["remote"]).getOrCreate()
        spark.sql("SELECT 1").collect()
        break
    except Exception:
        if attempt == 119:
            raise
        time.sleep(0.5)


def views(data):
    """Registers the tables below a folder."""
    for table in job["tables"]:
        spark.read.parquet(f"{data}/{table}").createOrReplaceTempView(table)


views(job["warm"])
spark.sql(job["queries"]["q3"]).collect()
views(job["data"])
for name, text in job["queries"].items():
    start = time.monotonic()
    try:
        spark.sql(text).collect()
        print(json.dumps({"query": name, "seconds": time.monotonic() - start}), flush=True)
    except Exception as e:  # one failed query does not end the measurement
        print(json.dumps({"query": name, "error": f"{type(e).__name__}: {str(e)[:300]}"}), flush=True)
