"""TPC-H through the pool against plain Spark: the demo.

    python -m cne_e2e.tpch [--scale 0.1]      # starts a pool, runs both engines, prints a table, last line `22/22 equal`
"""
import argparse
import sys
import time
from dataclasses import dataclass

from . import golden, pool, queries, session
from .compare import Answer, difference


@dataclass
class Result:
    """One query's outcome."""

    query: str
    rows: int
    seconds: float
    # None when equal.
    difference: str | None
    # Whether it gave no rows at all: the difference is the error's text then.
    failed: bool = False


def check(spark, name: str, want: Answer, text: str | None = None) -> Result:
    """Runs one query and compares; an error of the engine is a difference too. `text` of a query that is not TPC-H's."""
    start = time.monotonic()
    try:
        got = session.answer(spark.sql(text or queries.tpch()[name]))
    except Exception as e:  # the client's errors have no common class
        seconds = time.monotonic() - start
        if want.error and golden.error_class(e) == want.error:
            return Result(name, 0, seconds, None)
        return Result(name, 0, seconds, f"{type(e).__name__}: {first_lines(e)}", failed=True)
    if want.error:
        return Result(name, len(got.rows), time.monotonic() - start, f"rows instead of error {want.error}")
    seconds = time.monotonic() - start
    return Result(name, len(got.rows), seconds, difference(want, got))


def first_lines(error: Exception, limit: int = 600) -> str:
    """An error's text without the JVM's stack."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith(("\tat ", "JVM stacktrace"))]
    return " ".join(lines)[:limit]


def summary(results) -> str:
    """`N/N equal`."""
    results = list(results)
    return f"{sum(r.difference is None for r in results)}/{len(results)} equal"


def main() -> int:
    """Runs the demo."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="0.1")
    parser.add_argument("--slots", type=int, default=1, help="task slots of each of the two executors")
    args = parser.parse_args()
    pool.interruptible()
    print(f"plain Spark runs the 22 queries at scale {args.scale} (in a process without Comet)", file=sys.stderr, flush=True)
    want, spark_seconds = golden.tpch_answers(args.scale, fresh=True)
    print("starting one comet-scheduler, two comet-executor and a Spark session", file=sys.stderr, flush=True)
    results = []
    with pool.temporary(slots=args.slots) as p:
        spark = session.classic(session.pool_conf(p.url))
        try:
            session.tpch_views(spark, args.scale)
            print(f"{'query':<6} {'rows':>6} {'pool s':>8} {'spark s':>8}  result", flush=True)
            for name, answer in want.items():
                r = check(spark, name, answer)
                results.append(r)
                print(f"{name:<6} {r.rows:>6} {r.seconds:>8.2f} {spark_seconds[name]:>8.2f}  {r.difference or 'equal'}", flush=True)
        finally:
            spark.stop()
    total = sum(r.seconds for r in results)
    print(f"{'all':<6} {sum(r.rows for r in results):>6} {total:>8.2f} {sum(spark_seconds.values()):>8.2f}")
    print(summary(results), flush=True)
    return 0 if all(r.difference is None for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
