"""What is not executed is refused by name at submission, or is an error that names it; never another answer. What only the planner sees has its
tests in `fragment`, what needs classes of the JVM in the driver's `RefusalSuite`."""
import shutil
import uuid

import pytest

from cne_e2e import session
from cne_e2e.paths import CACHE
from cne_e2e.semantics import Settings
from cne_e2e.session import ENABLED


@pytest.fixture(scope="module")
def tables(spark):
    """Tables whose names, types or layouts are not for everybody, written by plain Spark; gives their folder."""
    folder = CACHE / "run" / f"refusals-{uuid.uuid4()}"
    legacy = [("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY"), ("spark.sql.session.timeZone", "America/Los_Angeles"),
              ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")]
    with Settings(spark, [(ENABLED, "false")]):
        spark.sql("SELECT id AS `größe`, named_struct('ä', id) AS s, id AS k FROM range(10)").write.parquet(str(folder / "names"))
        spark.sql("SELECT id AS k, parse_json('{}') AS v FROM range(3)").write.parquet(str(folder / "variant"))
        with Settings(spark, legacy):
            spark.sql("SELECT TIMESTAMP'1500-01-01 00:00:00' AS t, 1 AS k").write.parquet(str(folder / "legacy"))
        for name in ("left", "right"):
            frame = spark.sql("SELECT id % 97 AS k, id AS v FROM range(2000)")
            frame.write.bucketBy(4, "k").sortBy("k").option("path", str(folder / name)).saveAsTable(f"bucketed_{name}")
    spark.conf.set(ENABLED, "true")
    yield folder
    for name in ("left", "right"):
        spark.sql(f"DROP TABLE bucketed_{name}")
    shutil.rmtree(folder)


def refused(query, *named: str) -> str:
    with pytest.raises(Exception) as e:
        query()
    text = str(e.value)
    assert "CNE-1012" in text and all(n.lower() in text.lower() for n in named), text[:1500]
    return text


@pytest.mark.parametrize("query, named", [
    ("SELECT java_method('java.lang.Math', 'abs', n_nationkey) AS x FROM nation", "java_method"),
    ("SELECT months_between(DATE'2020-01-01', DATE'2019-01-01' + CAST(n_nationkey AS INT)) AS m FROM nation", "months_between"),
    ("SELECT sum(n_regionkey) OVER (ORDER BY n_nationkey * 1.0 RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS x FROM nation", "RANGE"),
    ("SELECT hll_sketch_estimate(hll_sketch_agg(n_nationkey)) AS x FROM nation", "hll_sketch_agg"),
    ("SELECT CAST(named_struct('a', n_nationkey * 1.5D) AS STRING) AS x FROM nation", "STRING"),
    ("SELECT monotonically_increasing_id() AS x FROM nation", "monotonically_increasing_id"),
    ("SELECT n_name COLLATE UTF8_LCASE AS c, count(*) AS n FROM nation GROUP BY 1", "collate"),
])
def test_by_name(spark, idle, query, named):
    refused(lambda: spark.sql(query).collect(), named)
    idle()


def test_names_outside_ascii_without_regard_to_case(spark, tables):
    names = spark.read.parquet(str(tables / "names"))
    refused(lambda: names.selectExpr("sum(`größe`)").collect(), "größe", "spark.sql.caseSensitive=true")
    refused(lambda: names.selectExpr("sum(s.`ä`)").collect(), "column s", "ASCII")
    assert names.selectExpr("sum(k) AS s").collect()[0].s == 45
    with Settings(spark, [("spark.sql.caseSensitive", "true")]):
        assert names.selectExpr("sum(`größe`) AS s").collect()[0].s == 45


def test_encrypted_files(spark, tables):
    factory = "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"
    frame = spark.read.option("parquet.crypto.factory.class", factory).schema("k BIGINT").parquet(str(tables / "names"))
    refused(lambda: frame.selectExpr("sum(k)").collect(), "encrypted", "parquet.crypto.factory.class")


def test_text_files(spark, tmp_path):
    """Which text is NULL, what is done with a malformed line and how dates are written are not in the message."""
    (tmp_path / "t.csv").write_text("1,a\n2,b\n")
    on = [("spark.sql.sources.useV1SourceList", ""), ("spark.comet.scan.csv.v2.enabled", "true")]
    for settings in ([], on):
        with Settings(spark, settings):
            frame = spark.read.schema("k BIGINT, s STRING").csv(str(tmp_path / "t.csv"))
            refused(lambda: frame.selectExpr("sum(k)").collect(), "csv")


def test_variant(spark, tables):
    frame = spark.read.parquet(str(tables / "variant"))
    refused(lambda: frame.selectExpr("count(v)").collect(), "VariantType")
    assert frame.selectExpr("sum(k) AS s").collect()[0].s == 3


def test_moments_of_the_julian_calendar_in_another_zone(spark, tables, idle):
    """Only the file says that it has them, so this is an error of the task; it names the file and the column."""
    frame = spark.read.parquet(str(tables / "legacy"))
    with pytest.raises(Exception, match=r"CNE-2013.*column \[t\] of file .*legacy"):
        frame.selectExpr("max(t)").collect()
    idle()
    assert frame.selectExpr("sum(k) AS s").collect()[0].s == 1


def test_python(spark):
    import pandas as pd
    from pyspark.sql import functions as f

    nation = spark.table("nation")

    @f.pandas_udf("long")
    def add(s: pd.Series) -> pd.Series:
        return s + 1

    rows = f.udf(lambda v: v, "long", useArrow=False)
    arrow = f.udf(lambda v: v, "long", useArrow=True)
    on = ("spark.comet.exec.nativeArrowPythonUDF.enabled", "spark.comet.exec.pyarrowUDF.enabled")
    for settings in ([], [(key, "true") for key in on]):
        with Settings(spark, settings):
            refused(lambda: nation.select(rows("n_nationkey")).collect(), "python")
            for function in (add, arrow):
                refused(lambda: nation.select(function("n_nationkey")).collect(), "python")
            refused(lambda: nation.mapInArrow(lambda batches: batches, nation.schema).collect(), "MapInArrow")
            refused(lambda: nation.groupBy("n_regionkey").applyInPandas(lambda d: d, nation.schema).collect(), "FlatMapGroupsInPandas")


def test_writes_leave_nothing(spark, tmp_path):
    nation = spark.table("nation")
    refused(lambda: nation.write.parquet(str(tmp_path / "out")), "does not write tables")
    refused(lambda: nation.write.format("noop").mode("overwrite").save(), "does not write tables")
    refused(lambda: spark.sql(f"CREATE TABLE made USING parquet LOCATION '{tmp_path / 'made'}' AS SELECT * FROM nation"), "does not write")
    assert not spark.catalog.tableExists("made")
    assert not [f for f in tmp_path.rglob("*") if f.is_file()]


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_bucketed_tables_joined(spark, tables, aqe):
    """Their layout would spare plain Spark the exchange; here the exchange is made, or the scan by buckets is refused."""
    query = "SELECT count(*) AS c, sum(l.v * r.v) AS s FROM bucketed_left l JOIN bucketed_right r ON l.k = r.k"
    common = [("spark.sql.adaptive.enabled", aqe), ("spark.sql.autoBroadcastJoinThreshold", "-1")]
    with Settings(spark, common):
        with Settings(spark, [(ENABLED, "false")]):
            want = spark.sql(query).collect()
        spark.conf.set(ENABLED, "true")
        assert spark.sql(query).collect() == want and want[0].c > 40_000
        with Settings(spark, [("spark.sql.sources.bucketing.enabled", "true")]):
            refused(lambda: spark.sql(query).collect(), "buckets", "spark.sql.sources.bucketing.enabled=false")
