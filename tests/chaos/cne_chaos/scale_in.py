"""The pool shrinks in the middle of TPC-H queries: SIGTERM of an executor, in every third run of all of them.

    python -m cne_chaos.scale_in 50 [--scale 1] [--seed N] [--mode write-behind]

A run counts as drained mid-query only when tasks of the query ran right before the signal, it had not succeeded right after it, and every executor
that got it ended with 0. With the whole pool drained, a new executor is started when the last one has ended, and has to finish the query. The last line is
`scale-in: runs N, right R, wrong W, drained mid-query D, tasks rerun after commit C`; exit code 0 only for N = R = D and C = 0.
"""
import random
import signal
import sys
import time
from dataclasses import dataclass

from cne_e2e.running import in_the_middle

from . import recipe
from .harness import Harness

# A drain lets running tasks end.
DRAIN_SECONDS = 120


@dataclass(frozen=True)
class Run:
    """One query: whether executors went away in its middle, and `right`, or what went wrong."""

    hit: bool
    outcome: str
    reruns: int = 0


def summary(runs: list[Run], wanted: int) -> tuple[str, int]:
    """The last line, and the exit code."""
    right, drained, reruns = sum(r.outcome == "right" for r in runs), sum(r.hit for r in runs), sum(r.reruns for r in runs)
    line = (f"scale-in: runs {len(runs)}, right {right}, wrong {len(runs) - right}, drained mid-query {drained}, "
            f"tasks rerun after commit {reruns}")
    return line, 0 if len(runs) == right == drained == wanted and reruns == 0 else 1


def drain(harness: Harness, query, victims: list[str]) -> tuple[bool, str]:
    """Sends SIGTERM to the executors and waits for their end; says whether that was in the query's middle, and what happened."""
    before = in_the_middle(query.on_pool())
    for name in victims:
        harness.pool.signal(name, signal.SIGTERM)
    after = query.on_pool()
    start = time.monotonic()
    codes = [harness.pool.ended(name, DRAIN_SECONDS) for name in victims]
    took = time.monotonic() - start
    unfinished = any(after[i]["state"] != "succeeded" for i in before if i in after)
    text = f"drained in {took:.1f} s"
    if any(code != 0 for code in codes):
        return False, f"{text}, exit codes {codes}"
    if len(victims) == harness.pool.count:
        now = [q for q in query.on_pool().values() if q["state"] in ("queued", "running")]
        # The pool is empty, and the query waits.
        unfinished = unfinished and bool(now) and query.is_alive()
        text += "; pool at zero, " + ", ".join(f"{q['stages_done']} of {q['stages_total']} stages done" for q in now)
        harness.pool.start_executor(victims[0])
    return unfinished, text


def one(harness: Harness, rng: random.Random, name: str, number: int) -> tuple[Run, str]:
    """Runs one query."""
    everything = number % 3 == 2
    undisturbed = harness.baseline(name)
    victims = rng.sample(harness.names, len(harness.names) if everything else 1)
    harness.started()
    since, query = len(harness.proxy.requests), harness.start(name)
    start = time.monotonic()
    query.start()
    point = rng.randrange(max(1, undisturbed.tasks - 1))
    reached = query.reach(point, rng.random() * undisturbed.seconds / undisturbed.tasks)
    at = time.monotonic() - start
    drained, text = drain(harness, query, victims) if reached else (False, "over before the signal")
    outcome = harness.outcome(query, undisturbed.limit - (time.monotonic() - start))
    seconds = time.monotonic() - start
    harness.heal()
    reruns, _, again = harness.reruns(since, undisturbed)
    text = f"{', '.join(victims)} at {at:.2f} s, {point} of {undisturbed.tasks} tasks done, {text}: {outcome} after {seconds:.2f} s"
    return Run(drained, outcome, reruns), text + again


if __name__ == "__main__":
    sys.exit(recipe.main("scale_in", __doc__, one, summary))
