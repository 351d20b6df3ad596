"""The semantics cases: no case may be wrong, and none refused or answered by the driver alone but those whose file says so. Each file runs in the
usual cell of the matrix, and once more, with ANSI on, in the one farthest from it."""
import dataclasses
import shutil

import pytest

from cne_e2e import cases, cells, semantics

FILES = cases.load()


def ansi_only(file: cases.CaseFile) -> cases.CaseFile:
    """The file without the runs with ANSI off."""
    kept = [case for case in file.cases if dict(case.settings)[cases.ANSI] == "true"]
    return dataclasses.replace(file, cases=kept)


FAR_FILES = [ansi_only(file) for file in FILES]


@pytest.fixture(scope="module", autouse=True)
def answers():
    """Plain Spark's answers, and no requests of an earlier run."""
    shutil.rmtree(semantics.CAPTURES, ignore_errors=True)
    semantics.ensure_golden(FILES)
    semantics.ensure_golden(FAR_FILES, (cells.FAR,))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_file(spark, file):
    said: list[str] = []
    counts = semantics.run(spark, [file], said.append)
    assert [line for line in said if line.startswith(("wrong", "unexpected", "executed"))] == []
    assert sum(counts.values()) == len(file.cases) and counts["equal"] + counts["same-error"] > 0


@pytest.mark.parametrize("file", FAR_FILES, ids=lambda f: f.name)
def test_file_in_another_zone_with_seven_partitions_and_tiny_batches(spark, file):
    said: list[str] = []
    semantics.run(spark, [file], said.append, (cells.FAR,))
    assert [line for line in said if line.startswith(("wrong", "unexpected"))] == []


def test_the_evidence_is_what_the_cases_prove(spark):
    """After the files above: what docs/compatibility.md calls native was executed just now."""
    assert semantics.EVIDENCE.read_text() == semantics.inventory(), "run `just evidence`"


@pytest.mark.parametrize("refused, verdict", [
    ("", "unexpected"), ("monotonically_increasing_id", "refused"), ("another reason", "unexpected")])
def test_a_refusal_counts_only_where_it_is_expected(spark, refused, verdict, monkeypatch, tmp_path):
    answer = tmp_path / "answer.json"
    answer.write_text('{"schema": [["x", "bigint"]], "rows": [[0]]}')
    monkeypatch.setattr(semantics, "golden_file", lambda file, case, cell: answer)
    settings = ((cases.ANSI, "true"),)
    text = "SELECT monotonically_increasing_id() AS x FROM region"
    case = cases.Case("f", "c", settings, text, refused)
    counts = semantics.run(spark, [cases.CaseFile("f", {}, [case])], lambda line: None)
    assert {v for v, n in counts.items() if n} == {verdict}


def test_an_answer_of_the_driver_alone_counts_only_where_it_is_expected(spark, monkeypatch, tmp_path):
    answer = tmp_path / "answer.json"
    answer.write_text('{"schema": [["x", "int"]], "rows": [[1]]}')
    monkeypatch.setattr(semantics, "golden_file", lambda file, case, cell: answer)
    for folded, verdict in ((True, "folded"), (False, "unexpected")):
        case = cases.Case("f", "c", ((cases.ANSI, "true"),), "SELECT * FROM VALUES (1) AS t(x)", folded=folded)
        counts = semantics.run(spark, [cases.CaseFile("f", {}, [case])], lambda line: None)
        assert {v for v, n in counts.items() if n} == {verdict}
