"""Query texts. Those of TPC-H and TPC-DS are read at run time from DuckDB's extension and from Spark's tests: no text of others is in this
repository."""
import functools
import glob
import os
import re
import subprocess
import zipfile

from . import paths


@functools.cache
def tpch() -> dict[str, str]:
    """`q1` to `q22` in order, without a closing semicolon."""
    import duckdb
    import duckdb_extension_tpch

    folder = os.path.dirname(duckdb_extension_tpch.__file__)
    extension = glob.glob(f"{folder}/extensions/*/tpch.duckdb_extension")[0]
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as db:
        db.execute(f"LOAD '{extension}'")
        rows = db.execute("SELECT query_nr, query FROM tpch_queries() ORDER BY query_nr").fetchall()
    return {f"q{number}": text.strip().rstrip(";") for number, text in rows}


@functools.cache
def tpcds() -> dict[str, str]:
    """`q1` to `q99` in order, four of them as `a` and `b`: as Spark's own tests have them, 103 in all."""
    subprocess.run([paths.ROOT / "tools" / "setup", "spark-tests"], check=True)
    with zipfile.ZipFile(paths.SPARK_TESTS_JAR) as jar:
        found = {m[1]: m[0] for m in (re.fullmatch(r"tpcds/(q\d+[ab]?)\.sql", name) for name in jar.namelist()) if m}
        order = sorted(found, key=lambda name: (int(re.search(r"\d+", name)[0]), name))
        return {name: jar.read(found[name]).decode().strip().rstrip(";") for name in order}


def chaos() -> dict[str, str]:
    """Queries of ours over the TPC-H tables: one that shuffles more than it computes, and one with a result of 12 MB at scale 0.01, which takes
    a while to read."""
    return {
        "shuffle": """
            SELECT /*+ MERGE(a, b) */ a.k, count(*) AS c, sum(a.l_quantity) AS q, max(b.o_totalprice) AS p, min(a.l_comment) AS t
            FROM (SELECT /*+ REPARTITION(7, l_comment) */ l_orderkey, l_quantity, l_comment, l_partkey % 500 AS k FROM lineitem) a
            JOIN (SELECT /*+ REPARTITION(5, o_comment) */ o_orderkey, o_totalprice FROM orders) b ON a.l_orderkey = b.o_orderkey
            GROUP BY a.k""",
        "result": f"SELECT l_orderkey, l_linenumber, concat({', '.join(['l_comment'] * 30)}) AS t FROM lineitem WHERE l_orderkey % 4 = 0",
    }
