"""A PySpark shell attached to the standing pool, with the TPC-H tables as views: `just spark`."""
import code
import sys

from . import pool, session


def main() -> int:
    """Opens the shell; a second argument-free call finds the same pool again."""
    info = pool.standing()
    if not info or "scheduler" not in info["live"]:
        print("no pool is running: run `just up` first", file=sys.stderr)
        return 1
    scale = sys.argv[1] if len(sys.argv) > 1 else "0.01"
    spark = session.classic(session.pool_conf(info["url"]) | info.get("conf", {}))
    session.tpch_views(spark, scale)
    banner = (f"Spark {spark.version}, attached to {info['url']}. `spark` is the session; the TPC-H tables (scale {scale}) are views:\n"
              '  spark.sql("SELECT l_returnflag, count(*) FROM lineitem GROUP BY 1").show()')
    try:
        import readline  # noqa: F401  history and editing, where Python has it
    except ImportError:
        pass
    code.interact(banner=banner, local={"spark": spark}, exitmsg="")
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
