"""TPC-DS through the pool against plain Spark.

    python -m cne_e2e.tpcds [--scale 1] [--queries q1,q3] [--matrix]     # last line `tpcds: E/N equal, refused R, wrong W`

With `--matrix` each query is run with AQE on and off, with ANSI off, and without broadcast joins.
"""
import argparse
import sys

from . import cases, golden, matrix, pool, queries, semantics, session, tpch


def verdict(result: tpch.Result) -> str:
    """`equal`, `refused` when the pool named what it does not run, else `wrong`."""
    if result.difference is None:
        return "equal"
    return "refused" if result.failed and semantics.REFUSAL.search(result.difference) else "wrong"


def summary(verdicts) -> tuple[str, int]:
    """The last line, and the exit code."""
    verdicts = list(verdicts)
    equal, refused, wrong = (verdicts.count(v) for v in ("equal", "refused", "wrong"))
    return f"tpcds: {equal}/{len(verdicts)} equal, refused {refused}, wrong {wrong}", 1 if wrong else 0


def column(spark, scale: str, names: list[str], settings: dict):
    """Runs the queries under the settings, which are undone afterwards; yields results."""
    want, _ = golden.answers("tpcds", scale, settings.get("spark.sql.ansi.enabled", "true"), names=names)
    with cases.Settings(spark, settings.items()):
        for name in names:
            yield tpch.check(spark, name, want[name], queries.tpcds()[name])


def main() -> int:
    """Runs the queries."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--queries", default=",".join(queries.tpcds()))
    parser.add_argument("--matrix", action="store_true")
    args = parser.parse_args()
    pool.interruptible()
    names = args.queries.split(",")
    columns = matrix.CLASSIC if args.matrix else {"default": {}}
    for settings in columns.values():
        golden.answers("tpcds", args.scale, settings.get("spark.sql.ansi.enabled", "true"), names=names)
    found = []
    with pool.temporary() as p:
        spark = session.classic(session.pool_conf(p.url))
        session.views(spark, "tpcds", args.scale)
        for label, settings in columns.items():
            for r in column(spark, args.scale, names, settings):
                found.append(verdict(r))
                print(f"{label:<13} {r.query:<5} {r.rows:>6} rows {r.seconds:>7.2f} s  {found[-1]:<8} {r.difference or ''}", flush=True)
        spark.stop()
    line, code = summary(found)
    print(line, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
