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
