"""Range exchanges: a global order over several sorted runs, and a user's repartitionByRange."""
from collections import Counter

import pytest

SWITCH = "spark.comet.nativeExecutors.enabled"


def on_plain_spark(spark, work):
    """What `work` gives with the pool and Comet off."""
    spark.conf.set(SWITCH, "false")
    spark.conf.set("spark.comet.enabled", "false")
    try:
        return work()
    finally:
        spark.conf.set(SWITCH, "true")
        spark.conf.set("spark.comet.enabled", "true")


def rows(df) -> list[tuple]:
    return [tuple(r) for r in df.collect()]


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_an_order_over_several_partitions(spark, aqe):
    spark.conf.set("spark.sql.adaptive.enabled", aqe)
    try:
        lines = spark.sql("SELECT l_extendedprice AS p, l_orderkey AS k, l_linenumber AS n, l_comment AS c FROM lineitem")
        # A key of several columns, all different: one right answer.
        total = lines.repartition(5).orderBy(lines.p.desc(), "k", "n")
        # DECIMAL, date, string and expression keys with many equal ones: the keys have one right order.
        some = spark.sql(
            "SELECT l_shipmode AS m, l_shipdate AS d, length(l_comment) AS l FROM lineitem WHERE l_quantity < 20"
        ).repartition(3).orderBy("m", "l")
        found, keys = rows(total), rows(some)
        assert on_plain_spark(spark, lambda: rows(total)) == found
        plain = on_plain_spark(spark, lambda: rows(some))
        assert Counter(plain) == Counter(keys) and [(r[0], r[2]) for r in plain] == [(r[0], r[2]) for r in keys]
        limited = lines.repartition(5).orderBy("n", "k").limit(10_000).orderBy("k", "n", "p")
        assert len(rows(limited)) == 10_000
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


def test_floats_and_nulls_are_in_sparks_order(spark):
    values = "(double('NaN')), (CAST(NULL AS DOUBLE)), (1.0D), (double('-Infinity')), (double('Infinity')), (-2.5D), (0.5D)"
    for order in ("a", "a DESC", "a ASC NULLS LAST", "a DESC NULLS FIRST"):
        some = f"SELECT /*+ REPARTITION(3) */ a FROM VALUES {values} AS t(a)"
        df = spark.sql(f"SELECT * FROM ({some}) ORDER BY {order}")
        found = list(map(repr, rows(df)))
        assert found == on_plain_spark(spark, lambda: list(map(repr, rows(df)))), order


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_repartition_by_range_keeps_its_number_and_its_keys_together(spark, aqe):
    spark.conf.set("spark.sql.adaptive.enabled", aqe)
    try:
        table = spark.sql("SELECT l_orderkey AS k, l_linenumber AS n FROM lineitem")
        ranged = table.repartition(5).repartitionByRange(4, "k")
        assert ranged.rdd.getNumPartitions() == 4
        parts = ranged.rdd.glom().collect()
        total = sum(map(len, parts))
        assert Counter(tuple(r) for part in parts for r in part) == Counter(rows(table))
        # About equal: an order has seven lines at most.
        assert all(abs(len(part) - total / 4) <= 14 for part in parts), list(map(len, parts))
        bounds = [(min(r.k for r in part), max(r.k for r in part)) for part in parts]
        assert all(a[1] < b[0] for a, b in zip(bounds, bounds[1:])), bounds
        # Spark groups such partitions without a further exchange.
        counted = ranged.groupBy("k").count()
        assert Counter(rows(counted)) == Counter(on_plain_spark(spark, lambda: rows(counted)))
        few = table.where("k < 3").repartitionByRange(4, "k")
        assert few.rdd.getNumPartitions() == 4
        assert Counter(map(tuple, few.rdd.collect())) == Counter(on_plain_spark(spark, lambda: rows(few)))
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
