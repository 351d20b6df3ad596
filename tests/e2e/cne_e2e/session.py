"""Spark sessions: plain Spark, Comet in Spark, and Spark with the pool attached."""
import os
import tempfile

from . import paths
from .compare import Answer
from .values import encode_rows

EXTENSION = "org.apache.comet.nativeexecutors.NativeExecutorsExtension"
PLUGIN = "org.apache.comet.nativeexecutors.NativeExecutorsPlugin"
ENABLED = "spark.comet.nativeExecutors.enabled"
# What benchmarks give a driver with Comet.
BENCH_MEMORY = {"spark.driver.memory": "4g", "spark.memory.offHeap.size": "4g"}
URL = "spark.comet.nativeExecutors.scheduler.url"

# Python's date conversion goes through the process's zone: both sides of a comparison use the same.
os.environ.setdefault("TZ", "UTC")
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def base_conf(cores: int = 2) -> dict:
    """What every session of ours has: loopback only, no UI, one fixed time zone."""
    return {
        "spark.master": f"local[{cores}]",
        "spark.app.name": "cne-e2e",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": os.environ.get("CNE_DRIVER_MEMORY", "2g"),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.log.level": os.environ.get("CNE_SPARK_LOG", "ERROR"),
        "spark.sql.warehouse.dir": tempfile.gettempdir() + "/cne-warehouse",
    }


def comet_conf() -> dict:
    """Comet inside Spark, as its documentation says."""
    return {
        "spark.driver.extraClassPath": str(paths.COMET_JAR),
        "spark.plugins": "org.apache.spark.CometPlugin",
        "spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
        "spark.memory.offHeap.enabled": "true",
        "spark.memory.offHeap.size": "1g",
        "spark.sql.extensions": "org.apache.comet.CometSparkSessionExtensions",
    }


def pool_conf(url: str) -> dict:
    """The pool attached: Comet's jar and ours. This is what the README tells a user to set."""
    conf = comet_conf()
    conf["spark.driver.extraClassPath"] = f"{paths.COMET_JAR}:{paths.driver_jar()}"
    conf["spark.plugins"] += f",{PLUGIN}"
    conf["spark.sql.extensions"] += f",{EXTENSION}"
    conf[ENABLED] = "true"
    conf[URL] = url
    return conf


def classic(conf: dict):
    """A classic session in this process (one per process: the JVM keeps its class path)."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for key, value in (base_conf() | conf).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def attach():
    """The session of a driver that spark-submit has configured."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate()


def remote(url: str):
    """A Spark Connect session. Not in a process that has a classic one."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.remote(url).getOrCreate()


def views(spark, suite: str, scale: str) -> None:
    """Registers the tables of `tpch` or `tpcds` as temporary views."""
    data = paths.data(suite, scale)
    for table in paths.TABLES[suite]:
        # The specification's name has no `_sk`, and so have the queries.
        frame = spark.read.parquet(str(data / table)).withColumnRenamed("c_last_review_date_sk", "c_last_review_date")
        frame.createOrReplaceTempView(table)


def tpch_views(spark, scale: str) -> None:
    """Registers the TPC-H tables as temporary views."""
    views(spark, "tpch", scale)


def answer(df) -> Answer:
    """Collects a data frame."""
    rows = df.collect()
    return Answer(schema=[[f.name, f.dataType.simpleString()] for f in df.schema.fields], rows=encode_rows(rows))
