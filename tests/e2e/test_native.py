"""No row of a query is made by the JVM, and the processes that make them hold no JVM."""
import subprocess

import pytest

from cne_e2e import paths, pool, queries


def executed(df) -> list[str]:
    """Names of the nodes of the executed plan, below AQE's wrapper and the final stage's adapter."""
    names, todo = [], [df._jdf.queryExecution().executedPlan()]
    while todo:
        plan = todo.pop()
        name = plan.getClass().getSimpleName()
        if name == "AdaptiveSparkPlanExec":
            todo.append(plan.executedPlan())
        elif name == "ResultQueryStageExec":
            todo.append(plan.plan())
        else:
            names.append(name)
            children = plan.children()
            todo += [children.apply(i) for i in range(children.size())]
    return names


def rows_produced(p: pool.Pool) -> int:
    return sum(h["rows_produced"] for h in p.executor_health().values())


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_a_query_is_one_leaf_and_executors_made_its_rows(spark, live_pool, aqe):
    spark.conf.set("spark.sql.adaptive.enabled", aqe)
    try:
        before = rows_produced(live_pool)
        df = spark.sql(queries.tpch()["q3"])
        assert len(df.collect()) == 10
        assert executed(df) == ["NativeExecutorsExec"]
        done = live_pool.query_list()[-1]
        assert done["tasks_done"] == done["tasks_total"] >= done["stages_total"] >= 2, done
        # q3 reads three tables and joins them: far more rows than its answer has.
        assert rows_produced(live_pool) - before >= 10
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


def test_every_way_to_read_a_result(spark):
    df = spark.sql("SELECT l_orderkey, l_linenumber, l_extendedprice FROM lineitem WHERE l_orderkey < 500")
    want = sorted(map(tuple, df.collect()))
    assert len(want) > 100
    assert sorted(map(tuple, df.toLocalIterator())) == want
    assert sorted(tuple(r.values()) for r in df.toArrow().to_pylist()) == want
    assert sorted(map(tuple, df.rdd.collect())) == want
    # A second action on one data frame, in reverse order of the ways.
    assert sorted(map(tuple, df.collect())) == want
    assert df.count() == len(want)
    assert len(df.take(7)) == 7 and set(map(tuple, df.take(7))) <= set(want)
    assert len(df.tail(3)) == 3 and set(map(tuple, df.tail(3))) <= set(want)


ONE_TABLE = "SELECT l_suppkey AS k, l_partkey AS p FROM lineitem WHERE l_tax = {}"
ONE_SUM = "SELECT l_suppkey AS k, sum({}) AS q FROM lineitem GROUP BY l_suppkey"


@pytest.mark.parametrize("aqe", ["true", "false"])
@pytest.mark.parametrize("one, values, join", [
    (ONE_TABLE, ("0.01", "0.02"), "a.k = b.k AND a.p = b.p"),
    # The right side is shuffled once more, by another key.
    (ONE_SUM, ("l_quantity", "l_tax"), "a.k = b.k + 1 AND a.q < b.q"),
])
def test_equal_parts_of_a_plan_run_once(spark, live_pool, aqe, one, values, join):
    def run(left, right):
        """The answer, and the number of stages."""
        text = f"SELECT count(*), sum(a.k) FROM ({one.format(left)}) a JOIN ({one.format(right)}) b ON {join}"
        rows = spark.sql(text).collect()
        stages = live_pool.query_list()[-1]["stages_total"]
        spark.conf.set("spark.comet.nativeExecutors.enabled", "false")
        assert spark.sql(text).collect() == rows
        spark.conf.set("spark.comet.nativeExecutors.enabled", "true")
        return stages

    conf = {"spark.sql.adaptive.enabled": aqe, "spark.sql.autoBroadcastJoinThreshold": "-1"}
    for key, value in conf.items():
        spark.conf.set(key, value)
    try:
        # Written at other places of the text, with other ids; equal only where every literal and column is.
        assert run(values[0], values[0]) == run(*values) - 1
    finally:
        spark.conf.set("spark.comet.nativeExecutors.enabled", "true")
        for key in conf:
            spark.conf.unset(key)


def test_mode_off_is_plain_comet(spark, live_pool):
    before = len(live_pool.query_list())
    spark.conf.set("spark.comet.nativeExecutors.enabled", "false")
    try:
        df = spark.sql("SELECT count(*) AS c FROM nation")
        assert df.collect()[0].c == 25
        assert "NativeExecutorsExec" not in executed(df)
    finally:
        spark.conf.set("spark.comet.nativeExecutors.enabled", "true")
    assert len(live_pool.query_list()) == before


def test_commands_are_untouched(spark):
    assert spark.sql("SHOW TABLES").count() >= 8
    assert [r.col_name for r in spark.sql("DESCRIBE nation").collect()][:2] == ["n_nationkey", "n_name"]
    spark.sql("CREATE OR REPLACE TEMP VIEW some_nations AS SELECT * FROM nation WHERE n_regionkey = 1")
    assert spark.sql("SELECT count(*) AS c FROM some_nations").collect()[0].c == 5
    assert "NativeExecutors" in spark.sql("EXPLAIN SELECT count(*) FROM nation").collect()[0][0]


@pytest.mark.parametrize("binary", ["comet-scheduler", "comet-executor"])
def test_binaries_are_without_jvm(binary):
    libraries = subprocess.run(["ldd", str(paths.binary(binary))], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "libc.so" in libraries and "libjvm" not in libraries


def test_processes_of_a_pool_end_with_it():
    with pool.temporary(executors=1) as p:
        pids = [process.pid for process in p.processes.values()]
        assert len(pids) == 2 and all(pool._start_time(pid) for pid in pids)
    assert not any(pool._start_time(pid) for pid in pids)
