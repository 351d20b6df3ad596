"""TPC-H on the pool equals plain Spark: all queries with the defaults, a slice of them under the settings that change plans."""
import pytest

from cne_e2e import connect, golden, matrix, queries, session, tpch
from conftest import SCALE

# Joins of every kind, scalar subqueries, null-aware anti, DISTINCT, top-k.
SLICE = ("q1", "q3", "q11", "q13", "q15", "q16", "q18", "q21", "q22")


@pytest.fixture(scope="module")
def answers():
    """Plain Spark's answers."""
    return golden.tpch_answers(SCALE)[0]


@pytest.mark.parametrize("name", queries.tpch())
def test_default(spark, answers, name):
    assert tpch.check(spark, name, answers[name]).difference is None


@pytest.mark.parametrize("column", [c for c in matrix.CLASSIC if c != "default"])
def test_settings(spark, column):
    results = list(matrix.classic_column(spark, SCALE, SLICE, matrix.CLASSIC[column]))
    assert [(r.query, r.difference) for r in results if r.difference] == []
    assert len(results) == len(SLICE)


def test_connect(live_pool):
    with connect.Server(session.pool_conf(live_pool.url)) as server:
        results = connect.client(server.url, SCALE, list(SLICE[:5]))
        cancelled = connect.interrupt(server.url)
    assert [(r.query, r.difference) for r in results if r.difference] == []
    assert len(results) == 5
    assert "OPERATION_CANCELED" in cancelled["error"] and cancelled["seconds"] < 2, cancelled
