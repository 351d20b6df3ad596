"""A slice of TPC-DS on the pool equals plain Spark: unions of groups, grouping sets, windows and limits by rank, spreads."""
import pytest

from cne_e2e import golden, session, tpcds
from conftest import SCALE

SLICE = ["q24a", "q33", "q36", "q39a", "q44", "q51", "q66", "q67"]


@pytest.fixture(scope="module")
def answers():
    """Plain Spark's answers."""
    return golden.answers("tpcds", SCALE, names=SLICE)[0]


@pytest.fixture(scope="module")
def tables(spark):
    """A session of its own: some tables have the names of others of TPC-H."""
    own = spark.newSession()
    session.views(own, "tpcds", SCALE)
    return own


def test_slice(tables, answers):
    found = list(tpcds.column(tables, SCALE, SLICE, {}))
    assert [(r.query, r.difference) for r in found if r.difference] == []
    assert sum(len(answers[r.query].rows) > 0 for r in found) >= 5


@pytest.mark.parametrize("verdicts, line, code", [
    (["equal", "equal", "refused"], "tpcds: 2/3 equal, refused 1, wrong 0", 0), (["equal", "wrong"], "tpcds: 1/2 equal, refused 0, wrong 1", 1)])
def test_summary(verdicts, line, code):
    assert tpcds.summary(verdicts) == (line, code)
