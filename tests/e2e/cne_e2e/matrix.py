"""TPC-H under the settings that change Spark's plans.

    python -m cne_e2e.matrix [--scale 0.01] [--queries q1,q3]      # last line `N/N equal`
"""
import argparse
import sys

from . import connect, golden, pool, queries, session, tpch

# Name of the column, and what it sets in a session whose defaults are Spark's.
CLASSIC = {
    "default": {},
    "aqe-off": {"spark.sql.adaptive.enabled": "false"},
    "ansi-off": {"spark.sql.ansi.enabled": "false"},
    "no-broadcast": {"spark.sql.autoBroadcastJoinThreshold": "-1"},
}


def classic_column(spark, scale: str, names, settings: dict):
    """Runs the queries in a classic session under the settings, which are undone afterwards; yields results."""
    want, _ = golden.tpch_answers(scale, settings.get("spark.sql.ansi.enabled", "true"))
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        for name in names:
            yield tpch.check(spark, name, want[name])
    finally:
        for key in settings:
            spark.conf.unset(key)


def connect_column(url: str, scale: str, names):
    """Runs the queries through a Spark Connect server attached to the pool."""
    golden.tpch_answers(scale)
    with connect.Server(session.pool_conf(url)) as server:
        yield from connect.client(server.url, scale, list(names))


def main() -> int:
    """Runs the matrix."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="0.01")
    parser.add_argument("--queries", default=",".join(queries.tpch()))
    args = parser.parse_args()
    pool.interruptible()
    names = args.queries.split(",")
    for ansi in ("true", "false"):
        golden.tpch_answers(args.scale, ansi)
    results = []

    def show(column: str, r: tpch.Result) -> None:
        results.append(r)
        print(f"{column:<13} {r.query:<4} {r.rows:>6} rows {r.seconds:>7.2f} s  {r.difference or 'equal'}", flush=True)

    with pool.temporary() as p:
        spark = session.classic(session.pool_conf(p.url))
        session.tpch_views(spark, args.scale)
        for column, settings in CLASSIC.items():
            for r in classic_column(spark, args.scale, names, settings):
                show(column, r)
        spark.stop()
        for r in connect_column(p.url, args.scale, names):
            show("connect", r)
    print(tpch.summary(results), flush=True)
    return 0 if all(r.difference is None for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
