"""The TPC-H query texts, read at run time from DuckDB's tpch extension: no text of others is in this repository."""
import functools
import glob
import os


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
