"""The scheduler is killed and started again in the middle of TPC-H queries; executors stay, and the driver submits the query again.

    python -m cne_chaos.restart_scheduler 10 [--scale 1] [--seed N] [--mode write-behind]

The kill comes when the commit records of some tasks are in the store and tasks of the query run. A stage is rerun when a task of it that was
committed begins to run again, or more outputs are made in all than without a restart (a query that is run again under another name). The last line is `restart-scheduler: runs N, right R, stages rerun S`; exit code 0 only for N = R, S = 0, every kill
in the middle of its query, and executors that are the same processes at the end.
"""
import random
import sys
import time
from dataclasses import dataclass

from cne_e2e.running import in_the_middle

from . import ledger, recipe
from .harness import Harness


@dataclass(frozen=True)
class Run:
    """One query: whether the scheduler went away in its middle, `right` or what went wrong, stages that were run again."""

    hit: bool
    outcome: str
    # Stages.
    reruns: int = 0


def summary(runs: list[Run], wanted: int) -> tuple[str, int]:
    """The last line, and the exit code."""
    right, stages = sum(r.outcome == "right" for r in runs), sum(r.reruns for r in runs)
    line = f"restart-scheduler: runs {len(runs)}, right {right}, stages rerun {stages}"
    return line, 0 if len(runs) == right == sum(r.hit for r in runs) == wanted and stages == 0 else 1


def one(harness: Harness, rng: random.Random, name: str, _: int) -> tuple[Run, str]:
    """Runs one query."""
    undisturbed = harness.baseline(name)
    harness.started()
    before = {n: harness.pool.processes[n].pid for n in harness.names}
    since, query = len(harness.proxy.requests), harness.start(name)
    start = time.monotonic()
    query.start()
    # From the first commit on.
    point = rng.randrange(1, max(2, undisturbed.tasks))
    killed, committed = False, 0
    if query.reach(point, rng.random() * undisturbed.seconds / undisturbed.tasks) and in_the_middle(query.on_pool()):
        harness.pool.restart_scheduler()
        killed = query.is_alive()
        committed = len(ledger.commits(harness.proxy.requests[since:]))
    at = time.monotonic() - start
    outcome = harness.outcome(query, undisturbed.limit - at)
    seconds = time.monotonic() - start
    gone = [n for n in harness.names if harness.pool.processes[n].poll() is not None or harness.pool.processes[n].pid != before[n]]
    if gone and outcome == "right":
        outcome = f"{', '.join(gone)} ended"
    harness.heal()
    reruns, stages, again = harness.reruns(since, undisturbed)
    text = (f"killed at {at:.2f} s, {point} of {undisturbed.tasks} tasks done, {committed} committed" if killed else "over before the kill")
    text += f": {outcome} after {seconds:.2f} s"
    # Under other names, at least one.
    return Run(killed, outcome, max(len(stages), bool(reruns))), text + again


if __name__ == "__main__":
    sys.exit(recipe.main("restart_scheduler", __doc__, one, summary))
