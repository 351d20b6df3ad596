"""The pool shrinks in the middle of TPC-H queries: SIGTERM of an executor, in every third run of all of them.

    python -m cne_chaos.scale_in 50 [--scale 1] [--seed N] [--mode write-behind]

A run counts as drained mid-query only when tasks of the query ran right before the signal, it had not succeeded right after it, and every executor
that got it ended with 0. With the whole pool drained, a new executor is started when the last one has ended, and has to finish the query. A query
that was over before its moment came is no run; another one takes its place. The last line is
`scale-in: runs N, right R, wrong W, drained mid-query D, tasks rerun after commit C`; exit code 0 only for N = R = D and C = 0.
"""
import argparse
import random
import signal
import sys
import time
from dataclasses import dataclass

from cne_e2e import pool, s3, s3proxy
from cne_e2e.running import in_the_middle

from .harness import MODES, Harness

# A drain lets running tasks end.
DRAIN_SECONDS = 120


@dataclass(frozen=True)
class Run:
    """One query: whether executors went away in its middle, and `right`, or what went wrong."""

    drained: bool
    outcome: str
    reruns: int = 0


def summary(runs: list[Run], wanted: int) -> tuple[str, int]:
    """The last line, and the exit code."""
    right, drained, reruns = sum(r.outcome == "right" for r in runs), sum(r.drained for r in runs), sum(r.reruns for r in runs)
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


def one(harness: Harness, rng: random.Random, name: str, everything: bool) -> tuple[Run, str]:
    """Runs one query."""
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


def main() -> int:
    """Runs the drains."""
    parser = argparse.ArgumentParser(prog="cne_chaos.scale_in", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
            run, text = one(harness, rng, name, len(runs) % 3 == 2)
            again = not run.drained and run.outcome == "right" and not run.reruns and missed < args.runs
            if again:
                missed += 1
            else:
                runs.append(run)
            if run.outcome != "right" or run.reruns:
                text += f"; logs in {harness.keep_logs(f'scale-in-{args.seed}-{len(runs)}')}"
            print(f"{'' if again else len(runs):>3} {name:<4} {text}", flush=True)
    print(f"missed and taken again: {missed}")
    line, code = summary(runs, args.runs)
    print(line, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
