"""A query that runs in a thread while the main thread does something to the pool."""
import threading
import time

from . import pool, tpch
from .compare import Answer


class Running(threading.Thread):
    """One query in a thread of its own, so that the main thread can kill executors meanwhile. `text` of a query that is not TPC-H's."""

    def __init__(self, p: pool.Pool, spark, name: str, want: Answer, text: str | None = None):
        super().__init__(daemon=True)
        self.pool, self.spark, self.query, self.want, self.text = p, spark, name, want, text
        self.earlier = {q["query_id"] for q in listed(p)}
        self.result: tpch.Result | None = None
        # Seconds since 1970; 0 before the start.
        self.started = 0.0
        # By pool query, the most tasks that were seen done.
        self.done: dict[str, int] = {}

    def run(self) -> None:
        self.started = time.time()
        self.result = tpch.check(self.spark, self.query, self.want, self.text)

    def on_pool(self) -> dict[str, dict]:
        """What the scheduler says of the pool's queries for this one: itself and its subqueries, by id."""
        found = {q["query_id"]: q for q in listed(self.pool) if q["query_id"] not in self.earlier}
        for i, q in found.items():
            self.done[i] = max(self.done.get(i, 0), q["tasks_done"])
        return found

    def reach(self, tasks: float, seconds: float) -> bool:
        """Waits until so many tasks are done, then so long or until the next one is; says whether tasks of the query run then."""
        since = reached = None
        while self.is_alive():
            now, done = self.on_pool(), sum(self.done.values())
            if since is None and done >= tasks:
                since, reached = time.monotonic(), done
            if since is not None and (done > reached or time.monotonic() - since >= seconds) and in_the_middle(now):
                return True
            time.sleep(0.002)
        return False


def in_the_middle(queries: dict[str, dict]) -> set[str]:
    """Ids of those that have tasks at executors."""
    return {i for i, q in queries.items() if q["state"] == "running" and q["tasks_running"] > 0}


def listed(p: pool.Pool) -> list[dict]:
    """The scheduler's queries; none while it is away."""
    from pyarrow import ArrowException

    try:
        return p.query_list()
    except ArrowException:
        return []
