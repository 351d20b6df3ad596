"""The semantics cases: no case may be wrong; what is refused is said by name."""
import pytest

from cne_e2e import semantics

FILES = semantics.load()


@pytest.fixture(scope="module", autouse=True)
def answers():
    """Plain Spark's answers."""
    semantics.ensure_golden(FILES)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_file(spark, file):
    wrong: list[str] = []
    counts = semantics.run(spark, [file], wrong.append)
    assert [line for line in wrong if line.startswith("wrong")] == []
    assert sum(counts.values()) == len(file.cases) and counts["equal"] > 0
