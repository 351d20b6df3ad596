"""kill -9 of one of two executors in the middle of TPC-H queries.

    python -m cne_e2e.kill_one 20 [--scale 0.1] [--seed N]

A run counts only when the scheduler said that the query was running both right before and right after the kill; an attempt whose
query was over too early is made again (its answer is still checked). The last line is
`kill-one: runs N, killed mid-query N, right N, wrong 0, hung 0`.
"""
import argparse
import random
import sys
import threading
import time

from . import golden, pool, session, tpch

# A query that has not ended by then will not.
HUNG_SECONDS = 180


class Running(threading.Thread):
    """One query in a thread of its own, so that the main thread can kill executors meanwhile."""

    def __init__(self, spark, name, want):
        super().__init__(daemon=True)
        self.spark, self.query, self.want = spark, name, want
        self.result: tpch.Result | None = None

    def run(self) -> None:
        self.result = tpch.check(self.spark, self.query, self.want)


def is_running(p: pool.Pool) -> bool:
    """Whether the scheduler has a query in execution with at least one task given to an executor."""
    return any(q["state"] == "running" and q["tasks_running"] > 0 for q in p.query_list())


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
    runs = right = wrong = hung = attempts = 0
    with pool.temporary(slots=1) as p:
        spark = session.classic(session.pool_conf(p.url))
        session.tpch_views(spark, args.scale)
        expected = {}
        for _ in range(2):  # the first pass warms the JVM up, the second one says how long each query takes
            for name in want:
                r = tpch.check(spark, name, want[name])
                if r.difference:
                    print(f"{name} is wrong without any kill: {r.difference}")
                    return 1
                expected[name] = r.seconds
        print("undisturbed: " + ", ".join(f"{n} {s:.2f} s" for n, s in expected.items()), flush=True)
        while runs < args.runs and attempts < 10 * args.runs:
            attempts += 1
            name = rng.choice(list(want))
            delay = rng.random() * expected[name]
            victim = rng.choice(sorted(p.executor_flight))
            query = Running(spark, name, want[name])
            start = time.monotonic()
            query.start()
            time.sleep(delay)
            before = is_running(p)
            if before:
                p.kill(victim)
            mid_query = before and query.is_alive() and is_running(p)
            query.join(HUNG_SECONDS)
            seconds = time.monotonic() - start
            outcome = "hung" if query.is_alive() else query.result.difference or "right"
            runs += mid_query
            right += mid_query and outcome == "right"
            hung += outcome == "hung"
            wrong += outcome not in ("right", "hung")
            print(f"{runs:>3} {name:<4} {victim if before else '-':<11} at {delay:.2f} s, "
                  f"{'mid-query' if mid_query else 'too late, not counted'}: {outcome} after {seconds:.2f} s", flush=True)
            if outcome == "hung":
                spark.sparkContext.cancelAllJobs()
                query.join(30)
            if before:
                p.start_executor(victim)
                p.wait_healthy()
        spark.stop()
    print(f"kill-one: runs {runs}, killed mid-query {runs}, right {right}, wrong {wrong}, hung {hung}", flush=True)
    return 0 if right == runs == args.runs and not wrong and not hung else 1


if __name__ == "__main__":
    sys.exit(main())
