"""Cancelling on the Spark side ends the query on the pool within two seconds, before the first row and in the middle of a result."""
import threading
import time

import pytest

# Long on any machine, and it computes: joins every line with every line of the same quantity.
LONG = "SELECT sum(a.l_extendedprice * b.l_discount) AS s FROM lineitem a JOIN lineitem b ON a.l_quantity = b.l_quantity AND a.l_comment < b.l_comment"


def in_group(spark, group: str, work) -> tuple[threading.Thread, dict]:
    """Runs `work` in a thread under a job group; the dictionary gets `error` or `value`."""
    from pyspark import InheritableThread

    outcome: dict = {}

    def run():
        spark.sparkContext.setJobGroup(group, group, interruptOnCancel=True)
        try:
            outcome["value"] = work()
        except Exception as e:  # what the client sees of a cancelled query
            outcome["error"] = str(e)
        outcome["ended"] = time.monotonic()

    thread = InheritableThread(target=run)
    thread.start()
    return thread, outcome


def wait_until(condition, seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_job_group_before_the_first_row(spark, live_pool, idle, aqe):
    spark.conf.set("spark.sql.adaptive.enabled", aqe)
    try:
        idle(10)
        thread, outcome = in_group(spark, f"long-{aqe}", lambda: spark.sql(LONG).collect())
        wait_until(lambda: any(h["tasks_running"] for h in live_pool.executor_health().values()), 30, "the query never ran")
        assert thread.is_alive(), outcome
        start = time.monotonic()
        spark.sparkContext.cancelJobGroup(f"long-{aqe}")
        thread.join(10)
        assert not thread.is_alive() and "error" in outcome, outcome
        assert outcome["ended"] - start < 2
        idle(2)
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


def test_client_leaves_in_the_middle_of_a_result(spark, idle):
    rows = spark.sql("SELECT l_orderkey, l_comment FROM lineitem").toLocalIterator()
    assert len([next(rows) for _ in range(10)]) == 10
    del rows
    idle(10)
    # The pool serves the next one.
    assert spark.sql("SELECT count(*) AS c FROM region").collect()[0].c == 5
