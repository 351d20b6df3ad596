"""One pool and one classic Spark session for the whole run; both end with it."""
import time

import pytest

from cne_e2e import pool, session

SCALE = "0.01"


@pytest.fixture(scope="session")
def live_pool():
    """A scheduler and two executors of two slots each."""
    with pool.temporary() as p:
        yield p


@pytest.fixture(scope="session")
def spark(live_pool):
    """A classic session attached to the pool, with the TPC-H views."""
    spark = session.classic(session.pool_conf(live_pool.url))
    session.tpch_views(spark, SCALE)
    yield spark
    spark.stop()


@pytest.fixture
def idle(live_pool):
    """Says that nothing runs on the pool any more; fails when something still does after `seconds`."""
    def wait(seconds: float = 2.0) -> None:
        end = time.monotonic() + seconds
        while True:
            busy = [q["query_id"] for q in live_pool.query_list() if q["state"] in ("queued", "running")]
            # Of the executors themselves: the scheduler forgets a task when it asks for its end.
            tasks = sum(h["tasks_running"] for h in live_pool.executor_health().values())
            if not busy and not tasks:
                return
            assert time.monotonic() < end, f"still running after {seconds} s: {busy}, {tasks} tasks"
            time.sleep(0.05)
    return wait
