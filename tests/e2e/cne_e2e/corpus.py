"""The corpus of the semantics cases (tests/semantics/corpus): requests of a real driver, the files that they name, plain Spark's answers.

    python -m cne_e2e.corpus            # runs the cases on a pool and writes the corpus again
    python -m cne_e2e.corpus answers    # plain Spark's part, in a process without Comet

A case is in it with ANSI on, when it ended equal or with the same error, is one request, has no LIMIT whose ties may be chosen, and its request
and its answer are small.
"""
import json
import shutil
import subprocess
import sys
from pathlib import Path

from . import cases, paths, pool, semantics, session
from .cases import ANSI, Case, CaseFile

CORPUS = paths.ROOT / "tests" / "semantics" / "corpus"
# Of one request or answer, in bytes.
LARGEST = 12_000


def members(files: list[CaseFile]):
    """What of the last run in the usual cell belongs to the corpus: file, case, and its request."""
    for file in files:
        for case in file.cases:
            if dict(case.settings)[ANSI] != "true" or case.shown:
                continue
            for verdict in ("equal", "same-error"):
                requests = list(semantics.captures(verdict, case).glob("*.pb"))
                answer = json.loads(cases.golden_file(file, case).read_text())
                # Of a subquery's rows the driver says itself that they are too many.
                here = answer.get("unlimited") is None and not (answer.get("error") or "").startswith("SCALAR_SUBQUERY")
                if len(requests) == 1 and here and requests[0].stat().st_size <= LARGEST:
                    yield file, case, requests[0]


def target(case: Case) -> Path:
    """The request of a case in the corpus."""
    return CORPUS / case.file / f"{case.name}.pb"


def copy(files: list[CaseFile]) -> None:
    """Puts requests and files of tables into place."""
    for file, case, request in members(files):
        target(case).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(request, target(case))
        shutil.copytree(file.data, CORPUS / "tables" / file.data.name, dirs_exist_ok=True, ignore=own_files_only)
    semantics.tool("pack", str(CORPUS), "/semantics/")


def own_files_only(folder: str, names: list[str]) -> set[str]:
    """What of a folder of tables is not copied: the tables in other numbers of files, checksums and marks."""
    cut = {name for name in names if Path(folder, name).is_dir() and name.rsplit("-", 1)[-1].isdigit()}
    return cut | {name for name in names if name.startswith((".", "_"))}


def answers(files: list[CaseFile]) -> None:
    """Plain Spark's answers as Arrow, or its error class, beside the requests."""
    import pyarrow as pa

    spark = session.classic({})
    for file in files:
        cases.views(spark, file)
        for case in file.cases:
            request = target(case)
            if dict(case.settings)[ANSI] != "true" or not request.exists():
                continue
            error = json.loads(cases.golden_file(file, case).read_text()).get("error")
            if error:
                request.with_suffix(".error").write_text(error + "\n")
                continue
            with cases.Settings(spark, case.settings):
                table = cases.frame(spark, case).toArrow()
            with pa.ipc.new_file(str(request.with_suffix(".arrow")), table.schema) as writer:
                writer.write_table(table)
            if request.with_suffix(".arrow").stat().st_size > LARGEST:
                request.unlink()
                request.with_suffix(".arrow").unlink()
    spark.stop()


def unused_tables() -> None:
    """Removes tables that no request names."""
    named = b"".join(p.read_bytes() for p in CORPUS.rglob("*.pb"))
    for file in (CORPUS / "tables").rglob("*.parquet"):
        if file.name.encode() not in named:
            file.unlink()


def main() -> int:
    """Makes the corpus."""
    files = cases.load()
    if sys.argv[1:] == ["answers"]:
        answers(files)
        return 0
    pool.interruptible()
    semantics.ensure_golden(files)
    shutil.rmtree(CORPUS, ignore_errors=True)
    with pool.temporary() as p:
        spark = session.classic(session.pool_conf(p.url))
        counts = semantics.run(spark, files)
        spark.stop()
    copy(files)
    subprocess.run([sys.executable, "-m", "cne_e2e.corpus", "answers"], check=True)
    unused_tables()
    size = sum(p.stat().st_size for p in CORPUS.rglob("*") if p.is_file())
    print(f"corpus: {len(list(CORPUS.rglob('*.pb')))} requests, {size // 1024} KiB; semantics: {semantics.summary(counts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
