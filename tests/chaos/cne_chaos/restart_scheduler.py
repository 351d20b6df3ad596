"""The scheduler is killed and started again in the middle of TPC-H queries; executors stay, and the driver submits the query again.

    python -m cne_chaos.restart_scheduler 10 [--scale 1] [--seed N] [--mode write-behind]

The kill comes when the commit records of some tasks are in the store and tasks of the query run. A stage is rerun when a task of it that was
committed begins to run again, or more outputs are made in all than without a restart (a query that is run again under another name). The last line is `restart-scheduler: runs N, right R, stages rerun S`; exit code 0 only for N = R, S = 0, every kill
in the middle of its query, and executors that are the same processes at the end.
"""
import argparse
import random
import sys
import time
from dataclasses import dataclass

from cne_e2e import pool, s3, s3proxy
from cne_e2e.running import in_the_middle

from . import ledger
from .harness import MODES, Harness


@dataclass(frozen=True)
class Run:
    """One query: whether the scheduler went away in its middle, `right` or what went wrong, stages that were run again."""

    killed: bool
    outcome: str
    stages: int = 0


def summary(runs: list[Run], wanted: int) -> tuple[str, int]:
    """The last line, and the exit code."""
    right, stages = sum(r.outcome == "right" for r in runs), sum(r.stages for r in runs)
    line = f"restart-scheduler: runs {len(runs)}, right {right}, stages rerun {stages}"
    return line, 0 if len(runs) == right == sum(r.killed for r in runs) == wanted and stages == 0 else 1


def one(harness: Harness, rng: random.Random, name: str) -> tuple[Run, str]:
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


def main() -> int:
    """Runs the restarts."""
    parser = argparse.ArgumentParser(prog="cne_chaos.restart_scheduler", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=int)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--mode", choices=MODES, default="store", help="how outputs are stored")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    pool.interruptible()
    print(f"seed {args.seed}", flush=True)
    rng, runs, missed = random.Random(args.seed), [], 0
    with s3.Server() as server, s3proxy.Proxy(server.address) as proxy, Harness(args.scale, server, proxy, args.mode, ("tpch",)) as harness:
        while len(runs) < args.runs:
            name = rng.choice(list(harness.texts))
            run, text = one(harness, rng, name)
            again = not run.killed and run.outcome == "right" and missed < args.runs
            if again:
                missed += 1
            else:
                runs.append(run)
            if run.outcome != "right" or run.stages:
                text += f"; logs in {harness.keep_logs(f'restart-scheduler-{args.seed}-{len(runs)}')}"
            print(f"{'' if again else len(runs):>3} {name:<4} {text}", flush=True)
    print(f"killed mid-query {sum(r.killed for r in runs)}; missed and taken again: {missed}")
    line, code = summary(runs, args.runs)
    print(line, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
