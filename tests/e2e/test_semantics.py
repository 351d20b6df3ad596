"""The semantics cases: no case may be wrong, and none refused but those whose file says so, for the reason that it says."""
import pytest

from cne_e2e import semantics

FILES = semantics.load()


@pytest.fixture(scope="module", autouse=True)
def answers():
    """Plain Spark's answers."""
    semantics.ensure_golden(FILES)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_file(spark, file):
    said: list[str] = []
    counts = semantics.run(spark, [file], said.append)
    assert [line for line in said if line.startswith(("wrong", "unexpected"))] == []
    assert sum(counts.values()) == len(file.cases) and counts["equal"] > 0


@pytest.mark.parametrize("refused, verdict", [
    ("", "unexpected"), ("monotonically_increasing_id", "refused"), ("another reason", "unexpected")])
def test_a_refusal_counts_only_where_it_is_expected(spark, refused, verdict, monkeypatch, tmp_path):
    answer = tmp_path / "answer.json"
    answer.write_text('{"schema": [["x", "bigint"]], "rows": [[0]]}')
    monkeypatch.setattr(semantics, "golden_file", lambda file, case: answer)
    settings = (("spark.sql.ansi.enabled", "true"),)
    text = "SELECT monotonically_increasing_id() AS x FROM region"
    case = semantics.Case("f", "c", settings, text, refused)
    counts = semantics.run(spark, [semantics.CaseFile("f", {}, [case])], lambda line: None)
    assert {v for v, n in counts.items() if n} == {verdict}
