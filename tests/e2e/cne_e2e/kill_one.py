"""kill -9 of one of two executors in the middle of TPC-H queries.

    python -m cne_e2e.kill_one 20 [--scale 0.1] [--seed N]

The moment of a kill is a random point of the query's work: when a random number of its tasks is done, and somewhere in the next one. A run counts as killed
mid-query only when the scheduler said right before the kill that tasks of the query were running, and right after it that it had not yet
succeeded. A query that was over before its moment came is no run: it is printed as missed, its answer is checked, and another one takes its
place, as often as there are runs. The last line is `kill-one: runs N, killed mid-query K, right R, wrong W, hung H`; the exit code is 0 only for N = K = R.
"""
import argparse
import math
import random
import sys
import time
from dataclasses import dataclass

from . import golden, pool, session
from .running import Running, in_the_middle

# A query that has not ended by then will not.
HUNG_SECONDS = 180


@dataclass(frozen=True)
class Run:
    """One run: whether the executor went away in the middle, and `right`, `hung` or the first difference."""

    killed: bool
    outcome: str


def summary(runs: list[Run], wanted: int) -> tuple[str, int]:
    """The last line, and the exit code."""
    killed = sum(r.killed for r in runs)
    right = sum(r.outcome == "right" for r in runs)
    hung = sum(r.outcome == "hung" for r in runs)
    line = f"kill-one: runs {len(runs)}, killed mid-query {killed}, right {right}, wrong {len(runs) - right - hung}, hung {hung}"
    return line, 0 if len(runs) == killed == right == wanted else 1


def kill_in(p: pool.Pool, query: Running, victim: str) -> bool:
    """Kills the executor, waits for the query's end, and says whether the kill was in its middle."""
    before = in_the_middle(query.on_pool())
    p.kill(victim)
    after = query.on_pool()
    query.join(HUNG_SECONDS)
    unfinished = any(after[i]["state"] != "succeeded" for i in before if i in after)
    # Or what ended just then was a subquery, and the query proper came later.
    return unfinished or bool(before and query.on_pool().keys() - after.keys())


def main() -> int:
    """Runs the kills."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=int)
    parser.add_argument("--scale", default="0.1")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    pool.interruptible()
    rng = random.Random(args.seed)
    print(f"seed {args.seed}", flush=True)
    want, _ = golden.tpch_answers(args.scale)
    runs: list[Run] = []
    with pool.temporary(slots=1) as p:
        spark = session.classic(session.pool_conf(p.url))
        session.tpch_views(spark, args.scale)
        seconds, tasks = {}, {}
        for _ in range(2):  # the first pass warms the JVM up, the second one says how long each query takes
            for name in want:
                query = Running(p, spark, name, want[name])
                query.start()
                query.reach(math.inf, 0)
                query.join()
                if query.result.difference:
                    print(f"{name} is wrong without any kill: {query.result.difference}")
                    return 1
                seconds[name], tasks[name] = query.result.seconds, sum(query.done.values())
        print("undisturbed: " + ", ".join(f"{n} {s:.2f} s {tasks[n]} tasks" for n, s in seconds.items()), flush=True)
        missed = 0
        while len(runs) < args.runs:
            name = rng.choice(list(want))
            victim = rng.choice(sorted(p.executor_flight))
            point = rng.randrange(tasks[name])
            # Somewhere inside the task that follows; the last ones are short.
            more = rng.random() * seconds[name] / tasks[name] if point < tasks[name] - 1 else 0
            query = Running(p, spark, name, want[name])
            start = time.monotonic()
            query.start()
            reached = query.reach(point, more)
            at = time.monotonic() - start
            killed = reached and kill_in(p, query, victim)
            query.join(HUNG_SECONDS)
            outcome = "hung" if query.is_alive() else query.result.difference or "right"
            again = not killed and outcome == "right" and missed < args.runs
            if again:
                missed += 1
            else:
                runs.append(Run(killed, outcome))
            how = "killed" if killed else "missed, the query was over before the kill"
            print(f"{'' if again else len(runs):>3} {name:<4} {victim if reached else '-':<11} at {at:.2f} s, {point} of {tasks[name]} tasks done, {how}: "
                  f"{outcome} after {time.monotonic() - start:.2f} s", flush=True)
            if outcome == "hung":
                spark.sparkContext.cancelAllJobs()
                query.join(30)
            if reached:
                p.start_executor(victim)
                p.wait_healthy()
        spark.stop()
    print(f"missed and taken again: {missed}")
    line, code = summary(runs, args.runs)
    if code:
        print("not every run was killed in the middle and right", flush=True)
    print(line, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
