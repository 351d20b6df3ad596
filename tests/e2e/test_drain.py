"""SIGTERM of one executor: it ends in time with exit code 0, the query's answer is right, and no task that was done is done again."""
import re
import signal
import threading
import time

import pytest

from cne_e2e import pool

# Computes for some seconds in each of its tasks, and its answer is known.
STEP, TASKS = 1_000_003, 4


class Query(threading.Thread):
    """Counts the numbers below `rows` that have one remainder."""

    def __init__(self, spark, rows: int):
        super().__init__(daemon=True)
        self.spark, self.rows, self.count, self.error = spark, rows, None, None

    def run(self) -> None:
        try:
            self.count = self.spark.range(0, self.rows, 1, TASKS).filter(f"id % {STEP} = 7").count()
        except Exception as e:  # the client's errors have no common class
            self.error = str(e)

    def check(self) -> None:
        self.join(120)
        assert not self.is_alive() and self.error is None, self.error
        assert self.count == (self.rows - 8) // STEP + 1


@pytest.fixture(scope="module")
def rows(spark):
    """So many that a task takes about two seconds on this machine now."""
    for _ in range(2):  # the first one warms the JVM up
        probe, start = Query(spark, 40_000_000), time.monotonic()
        probe.start()
        probe.check()
    return int(40_000_000 * 2 / max(time.monotonic() - start, 0.1))


def wait_until(condition, seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def done(p: pool.Pool, sizes: dict[str, int]) -> list[tuple]:
    """(query, stage, partition) of the tasks that executors finished since their logs had these sizes."""
    found = []
    for name, size in sizes.items():
        text = (p.state / f"{name}.log").read_bytes()[size:].decode()
        lines = [line for line in text.splitlines() if "task done" in line]
        found += [tuple(re.search(rf'\b{key}="?([\w-]+)', line).group(1) for key in ("query", "stage", "partition")) for line in lines]
    return found


@pytest.fixture
def executor(live_pool, idle):
    """Name of an executor to drain; what is missing is started again afterwards."""
    idle(10)
    yield "executor-1"
    live_pool.executor_env.pop("CNE_DRAIN_GRACE", None)
    for name in [n for n in live_pool.executor_flight if n not in live_pool.processes]:
        live_pool.start_executor(name)
    live_pool.wait_healthy()


def sizes(p: pool.Pool) -> dict[str, int]:
    return {name: (p.state / f"{name}.log").stat().st_size for name in p.executor_flight}


def test_an_idle_executor_ends_within_a_second(live_pool, executor):
    assert pool.get(live_pool.executor_http[executor], "/readyz") == (200, "ok\n")
    code, seconds = live_pool.drain(executor)
    assert code == 0 and seconds < 1, (code, seconds)
    assert len(live_pool.health()["executors"]) == 1


def test_running_tasks_finish(spark, live_pool, executor, rows):
    before, query = sizes(live_pool), Query(spark, rows)
    query.start()
    wait_until(lambda: live_pool.executor_health()[executor]["tasks_running"] == 2, 30, "no task ran")
    address = live_pool.executor_http[executor]
    live_pool.processes[executor].send_signal(signal.SIGTERM)
    wait_until(lambda: pool.get(address, "/readyz") == (503, "draining\n"), 1, "it does not say that it drains")
    assert pool.get(address, "/healthz") == (200, "ok\n")
    code, _ = live_pool.drain(executor, signalled=True)
    assert code == 0
    query.check()
    tasks = done(live_pool, before)
    assert len(tasks) == len(set(tasks)) and len(tasks) >= TASKS, tasks
    assert "handed back" not in live_pool.log_tail(executor)


def test_tasks_without_time_are_handed_back(spark, live_pool, executor, rows):
    live_pool.kill(executor)
    live_pool.executor_env["CNE_DRAIN_GRACE"] = "1s"
    live_pool.start_executor(executor)
    live_pool.wait_healthy()
    before, query = sizes(live_pool), Query(spark, rows * 3)
    query.start()
    wait_until(lambda: live_pool.executor_health()[executor]["tasks_running"] == 2, 30, "no task ran")
    code, seconds = live_pool.drain(executor)
    assert code == 0 and seconds < 2, (code, seconds)
    assert "handed back tasks=2" in live_pool.log_tail(executor)
    query.check()
    tasks = done(live_pool, before)
    assert len(tasks) == len(set(tasks)) and len(tasks) >= TASKS, tasks


def test_the_pool_goes_to_zero_in_the_middle_of_a_query(spark, live_pool, executor, rows):
    before, query, names = sizes(live_pool), Query(spark, rows), list(live_pool.executor_flight)
    query.start()
    wait_until(lambda: all(h["tasks_running"] == 2 for h in live_pool.executor_health().values()), 30, "not every task ran")
    for name in names:
        live_pool.processes[name].send_signal(signal.SIGTERM)
    assert [live_pool.drain(name, signalled=True)[0] for name in names] == [0, 0]
    # The tasks of the first stage are done; the last stage has nowhere to run.
    time.sleep(1)
    demand = pool.action(live_pool.flight, "comet.demand")
    assert query.is_alive() and demand["registered"] == 0 and demand["wanted"] > 0, demand
    for name in names:
        live_pool.start_executor(name)
    query.check()
    tasks = done(live_pool, before)
    assert len(tasks) == len(set(tasks)) > TASKS, tasks


def test_the_second_signal_ends_it_at_once(spark, live_pool, executor, rows):
    query = Query(spark, rows * 3)
    query.start()
    wait_until(lambda: live_pool.executor_health()[executor]["tasks_running"] == 2, 30, "no task ran")
    live_pool.processes[executor].send_signal(signal.SIGTERM)
    # Two signals at the same moment are one.
    address = live_pool.executor_http[executor]
    wait_until(lambda: pool.get(address, "/readyz")[0] == 503, 2, "it does not drain")
    code, seconds = live_pool.drain(executor)
    assert code == 130 and seconds < 0.5, (code, seconds)
    query.check()


def test_the_scheduler_is_ready_and_counts(live_pool):
    assert pool.get(live_pool.http, "/healthz") == pool.get(live_pool.http, "/readyz") == (200, "ok\n")
    assert pool.get(live_pool.executor_http["executor-2"], "/metrics")[1].count("comet_tasks_succeeded_total") == 3


def test_a_killed_executor_is_noticed_before_its_heartbeat_is_missed(live_pool, executor):
    address = live_pool.executor_flight[executor]
    live_pool.kill(executor)
    start = time.monotonic()
    wait_until(lambda: address not in [e["flight"].split("//")[-1] for e in live_pool.health()["executors"]], 3.5, "it is still listed")
    # CNE_EXECUTOR_TIMEOUT is 4 s.
    assert time.monotonic() - start < 3.5
