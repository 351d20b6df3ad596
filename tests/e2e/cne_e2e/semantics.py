"""Case files of SQL (cases.py), run on the pool and judged by plain Spark.

    python -m cne_e2e.semantics golden [--cells CELLS] [FILE...]   # makes the answers of plain Spark again
    python -m cne_e2e.semantics run [--cells CELLS] [FILE...]      # last line `semantics: equal E, same-error S, refused R, folded F, unexpected U, wrong W`
    python -m cne_e2e.semantics evidence                           # all cases in the usual cell; writes tests/semantics/evidence.txt

CELLS are points of the matrix zone x partitions x batch size (cells.py), each with ANSI on and off: `usual` (UTC, the tables' own files), `far`
(another zone, 7 partitions, batches of 2 rows), `pairs` (nine in which every two values meet), `all`.

The optimizer neither folds constants nor turns relations into rows of its own. Verdicts: `equal` (schema, rows, order), `same-error` (both raise
the same Spark error class, exception, parameters and place: errors.py), `refused` (the pool named what it does not run, as the case says; only its own refusals count, so that no crash hides
behind one), `folded` (the driver answered alone, as the case says), `unexpected` (a refusal or an answer of the driver that the case does not say),
`wrong` (anything else).
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from . import cases, cells, errors, golden, paths, pool, session, tpch
from .cases import ANSI, STORE, UNFOLDED, Case, CaseFile, Settings, golden_file, load, views, write_tables
from .cells import USUAL, Cell
from .compare import Answer, difference

# Codes of the pool for "this plan is not executed here" (docs/errors.md).
REFUSAL = re.compile(r"CNE-(1004|1012)\b")
CAPTURE = "spark.comet.nativeExecutors.captureDir"
VERDICTS = ("equal", "same-error", "refused", "folded", "unexpected", "wrong")
# Requests of cases that ended equal or with the same error in the usual cell, by verdict, file and case.
CAPTURES = STORE / "captures"
# What they use: what docs/compatibility.md may call native.
EVIDENCE = paths.ROOT / "tests" / "semantics" / "evidence.txt"


def make_golden(files: list[CaseFile], of: tuple[Cell, ...], fresh: bool) -> None:
    """Writes tables and answers with plain Spark. Runs in a process without Comet."""
    spark = session.classic({"spark.sql.ansi.enabled": "true"})
    for file in files:
        for partitions in sorted({0} | {cell.partitions for cell in of}):
            write_tables(spark, file, partitions)
        views(spark, file)
        for cell in of:
            for case in file.cases:
                target = golden_file(file, case, cell)
                if case.fits(cell) and (fresh or not errors.kept(target)):
                    write_answer(spark, case, cell, target)
    spark.stop()


def write_answer(spark, case: Case, cell: Cell, target: Path) -> None:
    """Plain Spark's answer to one case."""
    with Settings(spark, (cell.spark | dict(case.settings)).items()):
        try:
            frame = cases.frame(spark, case)
            answer = vars(cases.answer(case, frame) if case.shown else golden.with_limits(spark, frame))
        except Exception as e:  # Spark's error is the answer
            name = golden.error_class(e)
            if not name:
                raise RuntimeError(f"{case.label}: plain Spark fails without an error class: {tpch.first_lines(e)}") from e
            answer = {"error": name, "details": errors.details(e)}
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    part.write_text(json.dumps(answer))
    part.rename(target)


def ensure_golden(files: list[CaseFile], of: tuple[Cell, ...] = (USUAL,), fresh: bool = False) -> None:
    """Makes what is missing, in a process of its own."""
    def complete(file: CaseFile, cell: Cell) -> bool:
        tables = all(file.table(name, cell.partitions).exists() for name in file.tables)
        return tables and all(errors.kept(golden_file(file, case, cell)) for case in file.cases if case.fits(cell))

    if fresh or not all(complete(file, cell) for file in files for cell in of):
        command = [sys.executable, "-m", "cne_e2e.semantics", "golden", "--cells", name_of(of)]
        command += [f.name for f in files] + (["--fresh"] if fresh else [])
        subprocess.run(command, check=True, cwd=paths.ROOT / "tests" / "e2e")


def name_of(of: tuple[Cell, ...]) -> str:
    """The name under which the command line knows the cells."""
    return next(name for name, found in cells.NAMED.items() if found == of)


def judge(spark, file: CaseFile, case: Case, cell: Cell = USUAL) -> tuple[str, str]:
    """Runs one case; its verdict and, for all but equal, the reason."""
    want = json.loads(golden_file(file, case, cell).read_text())
    frame, got, error = None, None, None
    try:
        frame = cases.frame(spark, case)
        got = cases.answer(case, frame)
    except Exception as e:  # the client's errors have no common class
        error = e
    verdict, reason = compared(case, cell, want, got, error)
    # Without our node in the plan the answer is the driver's own.
    if verdict in ("equal", "same-error") and not (frame and "CometNativeExecutors" in frame._jdf.queryExecution().executedPlan().toString()):
        return ("folded", "") if case.folded else ("unexpected", "the driver answered it alone")
    return verdict, reason


def compared(case: Case, cell: Cell, want: dict, got: Answer | None, error: Exception | None) -> tuple[str, str]:
    """The verdict on what came: rows or an error. Which row fails first depends on where the rows are: in other files only the class is compared."""
    if error is not None:
        text = str(error)
        if REFUSAL.search(text):
            expected = case.refused and case.refused.lower() in text.lower()
            return "refused" if expected else "unexpected", tpch.first_lines(error, 300)
        name = golden.error_class(error)
        if want.get("error") and name == want["error"]:
            found = None if cell.partitions else errors.difference(want["details"], errors.details(error))
            return ("wrong", f"{name}: {found}") if found else ("same-error", name)
        return "wrong", f"error {name} instead of {want.get('error') or 'rows'}: {tpch.first_lines(error, 400)}"
    if want.get("error"):
        return "wrong", f"rows {got.rows[:3]} instead of error {want['error']}"
    found = difference(Answer(**want), got)
    return ("wrong", found) if found else ("equal", "")


def captures(verdict: str, case: Case) -> Path:
    """Folder of the requests of a case that ended so."""
    return CAPTURES / verdict / case.file / f"{case.name}-{dict(case.settings)[ANSI]}"


def keep(requests: Path, verdict: str, case: Case) -> None:
    """Keeps the requests of a case that ended well, in the place of those of an earlier run."""
    for one in ("equal", "same-error"):
        shutil.rmtree(captures(one, case), ignore_errors=True)
    if verdict in ("equal", "same-error"):
        shutil.copytree(requests, captures(verdict, case))


def run_file(spark, file: CaseFile, cell: Cell, show) -> dict[str, int]:
    """Judges the cases of one file in one cell; counts by verdict."""
    counts = dict.fromkeys(VERDICTS, 0)
    views(spark, file, cell.partitions)
    for case in file.cases:
        if not case.fits(cell):
            continue
        with tempfile.TemporaryDirectory(prefix="capture-") as requests:
            with Settings(spark, (UNFOLDED | cell.settings | {CAPTURE: requests} | dict(case.settings)).items()):
                verdict, reason = judge(spark, file, case, cell)
            if cell == USUAL:
                keep(Path(requests), verdict, case)
        counts[verdict] += 1
        where = f" ({cell.label})" if cell.label else ""
        if verdict in ("refused", "unexpected", "wrong"):
            show(f"{verdict:<10} {case.label}{where}: {reason}")
        elif case.refused or (case.folded and verdict != "folded"):
            show(f"executed   {case.label}{where}: its `refused=` or `folded=` can go")
    return counts


def run(spark, files: list[CaseFile], show=print, of: tuple[Cell, ...] = (USUAL,)) -> dict[str, int]:
    """Judges all cases in a session attached to the pool; counts by verdict."""
    total = dict.fromkeys(VERDICTS, 0)
    for file in files:
        for cell in of:
            for verdict, count in run_file(spark, file, cell, show).items():
                total[verdict] += count
    return total


def tool(*args: str) -> str:
    """What `cne-semantics` prints (tests/semantics/src/main.rs)."""
    build = ["cargo", "build", "--locked", "--quiet", "-p", "cne-semantics", "-p", "workspace-features", "--bins"]
    subprocess.run(build, check=True, cwd=paths.ROOT, env=os.environ | {"CARGO_TARGET_DIR": str(paths.TARGET)})
    return subprocess.run([paths.TARGET / "debug" / "cne-semantics", *args], check=True, stdout=subprocess.PIPE, text=True).stdout


def inventory() -> str:
    """What the cases that ended equal use, a line each."""
    return tool("inventory", str(CAPTURES / "equal"))


def summary(counts: dict[str, int]) -> str:
    """Counts by verdict on one line."""
    return ", ".join(f"{verdict} {count}" for verdict, count in counts.items())


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["golden", "run", "evidence"])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--cells", default="usual", choices=cells.NAMED)
    parser.add_argument("--fresh", action="store_true", help="also answers that are cached")
    args = parser.parse_intermixed_args()
    if args.command == "evidence":
        args.files, args.cells = [], "usual"
        shutil.rmtree(CAPTURES, ignore_errors=True)
    files, of = load(args.files), cells.NAMED[args.cells]
    if args.command == "golden":
        make_golden(files, of, args.fresh)
        print(f"golden: {sum(len(f.cases) for f in files)} cases of Spark {paths.SPARK_VERSION} in {STORE}")
        return 0
    pool.interruptible()
    ensure_golden(files, of)
    total = dict.fromkeys(VERDICTS, 0)
    with pool.temporary() as p:
        spark = session.classic(session.pool_conf(p.url))
        for file in files:
            counts = run(spark, [file], lambda line: print(line, flush=True), of)
            print(f"{file.name}: {summary(counts)}", flush=True)
            total = {verdict: total[verdict] + counts[verdict] for verdict in VERDICTS}
        spark.stop()
    if args.command == "evidence":
        EVIDENCE.write_text(inventory())
    print(f"semantics: {summary(total)}", flush=True)
    return 0 if not total["wrong"] and not total["unexpected"] else 1


if __name__ == "__main__":
    sys.exit(main())
