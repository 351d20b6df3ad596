"""A table in the bucket, and a Spark driver that plans over it."""
import subprocess
from pathlib import Path

from .. import session
from .sts import TABLES

JAVA = Path(__file__).with_name("LocalBucket.java")
GROUPS = 7


class Table:
    """Parquet files `files` in the bucket and, below the same keys, on the disk of the driver. `want` is the answer to `query`."""

    def __init__(self, folder: Path, files: int, rows: int = 2000):
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.folder = folder / "t"
        self.folder.mkdir()
        sums = [[0, 0] for _ in range(GROUPS)]
        for i in range(files):
            values = list(range(i * rows, (i + 1) * rows))
            for v in values:
                sums[v % GROUPS][0] += 1
                sums[v % GROUPS][1] += v * 3
            pq.write_table(pa.table({"k": values, "v": [v * 3 for v in values]}), self.folder / f"{i:03}.parquet")
        self.want = [(g, *s) for g, s in enumerate(sums)]
        self.query = f"SELECT k % {GROUPS} AS g, count(*), sum(v) FROM t GROUP BY 1 ORDER BY 1"

    def upload(self, client) -> None:
        """Puts the files into the bucket, as the server's administrator."""
        for file in sorted(self.folder.iterdir()):
            client.ask("PUT", f"/{TABLES}{file}", body=file.read_bytes())

    def run(self, spark) -> list[tuple]:
        """The query's rows."""
        return [tuple(row) for row in spark.sql(self.query).collect()]


def driver(url: str, folder: Path, captures: Path):
    """A Spark session attached to the pool, which sees the bucket's keys as files."""
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    subprocess.run(["javac", "-nowarn", "-d", folder, "-cp", f"{jars}/*", JAVA], check=True)
    conf = session.pool_conf(url)
    conf["spark.driver.extraClassPath"] += f":{folder}"
    conf |= {"spark.hadoop.fs.s3a.impl": "LocalBucket", "spark.comet.nativeExecutors.captureDir": str(captures),
             # One file for each task.
             "spark.sql.files.maxPartitionBytes": "1m", "spark.sql.files.openCostInBytes": "1m"}
    return session.classic(conf)


def view(spark, table: Table) -> None:
    """Registers the table by its URL in the bucket."""
    spark.read.parquet(f"s3a://{TABLES}{table.folder}").createOrReplaceTempView("t")


def error_of(spark, table: Table) -> str:
    """The text of the query's error, without the JVM's stack; empty when it has rows."""
    from ..tpch import first_lines

    try:
        table.run(spark)
    except Exception as e:  # the client's errors have no common class
        return first_lines(e, 2000)
    return ""


