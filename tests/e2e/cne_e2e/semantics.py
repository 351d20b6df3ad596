"""Case files of SQL, run on the pool and judged by plain Spark.

    python -m cne_e2e.semantics golden [FILE...]     # makes the answers of plain Spark again
    python -m cne_e2e.semantics run [FILE...]        # last line `semantics: equal E, same-error S, refused R, unexpected U, wrong W`

A file in tests/semantics/cases consists of blocks, each begun by a line `--- ...`:

    --- table NAME [files=N]     the SELECT below it is written as N Parquet files by plain Spark and is the view NAME
    --- case NAME [KEY=VALUE...] [refused=TEXT] the query below it; KEY is a Spark setting (`ansi` is short for
                                 spark.sql.ansi.enabled); a case without `ansi` runs with ANSI on and off; `refused=` and the rest of the
                                 line say what the pool names when it refuses the query, which is a failure for any other case

Verdicts: `equal` (schema, rows, order), `same-error` (both raise the same Spark error class), `refused` (the pool named what it does
not run, as the case says; only its own refusals count, so that no crash hides behind one), `unexpected` (a refusal that the case does not
say, or for another reason), `wrong` (anything else).
"""
import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from . import golden, paths, pool, session, tpch
from .compare import Answer, difference

CASES = paths.ROOT / "tests" / "semantics" / "cases"
STORE = paths.CACHE / "semantics"
# Codes of the pool for "this plan is not executed here" (docs/errors.md).
REFUSAL = re.compile(r"CNE-(1004|1012)\b")


@dataclass(frozen=True)
class Case:
    """One query under one set of settings."""

    file: str
    name: str
    settings: tuple
    text: str
    # What a refusal of it names; empty for a query that is to be executed.
    refused: str = ""

    @property
    def label(self) -> str:
        """Its name in messages."""
        ansi = dict(self.settings)["spark.sql.ansi.enabled"]
        return f"{self.file}:{self.name}[ansi={ansi}]"


@dataclass(frozen=True)
class CaseFile:
    """A parsed file. `tables` maps a view's name to (number of files, SELECT)."""

    name: str
    tables: dict
    cases: list

    @property
    def data(self) -> Path:
        """Folder of its tables: named by what they are made of."""
        text = json.dumps([paths.SPARK_VERSION, self.tables])
        return STORE / "tables" / f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def parse(path: Path) -> CaseFile:
    """Reads a case file; a malformed one is an error with its line."""
    blocks, tables, cases = [], {}, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("--- "):
            head, _, refused = line[4:].partition(" refused=")
            blocks.append((number, head.split(), refused.strip(), []))
        elif line.strip() and not line.startswith("--"):
            if not blocks:
                raise ValueError(f"{path}:{number}: text before the first block")
            blocks[-1][3].append(line)
    for number, (kind, name, *options), refused, body in blocks:
        text = "\n".join(body).strip().rstrip(";")
        settings = dict(o.split("=", 1) for o in options)
        if not text:
            raise ValueError(f"{path}:{number}: an empty block")
        if kind == "table":
            tables[name] = (int(settings.get("files", 1)), text)
        elif kind == "case":
            ansi = settings.pop("ansi", None)
            for value in [ansi] if ansi else ["true", "false"]:
                cases.append(Case(path.stem, name, tuple(sorted((settings | {"spark.sql.ansi.enabled": value}).items())), text, refused))
        else:
            raise ValueError(f"{path}:{number}: a block is `table` or `case`, not `{kind}`")
    return CaseFile(path.stem, tables, cases)


def golden_file(file: CaseFile, case: Case) -> Path:
    """Where plain Spark's answer to a case is kept."""
    return STORE / "golden" / f"{golden.key(str(file.data), json.dumps(case.settings), case.text)}.json"


def views(spark, file: CaseFile) -> None:
    """Registers the tables of a file."""
    for name in file.tables:
        spark.read.parquet(str(file.data / name)).createOrReplaceTempView(name)


class Settings:
    """Settings of one case, undone at the end of the block."""

    def __init__(self, spark, settings):
        self.spark, self.settings = spark, settings

    def __enter__(self):
        for key, value in self.settings:
            self.spark.conf.set(key, value)

    def __exit__(self, *_):
        for key, _ in self.settings:
            self.spark.conf.unset(key)


def make_golden(files: list[CaseFile], fresh: bool) -> None:
    """Writes tables and answers with plain Spark. Runs in a process without Comet."""
    spark = session.classic({"spark.sql.ansi.enabled": "true"})
    for file in files:
        if not file.data.exists():
            part = file.data.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            for name, (count, text) in file.tables.items():
                # The rows of a table are made by the legacy mode, so that a case file can hold values ANSI would refuse to cast.
                with Settings(spark, [("spark.sql.ansi.enabled", "false")]):
                    spark.sql(text).repartition(count).write.parquet(str(part / name))
            part.mkdir(parents=True, exist_ok=True)
            part.rename(file.data)
        views(spark, file)
        for case in file.cases:
            target = golden_file(file, case)
            if target.exists() and not fresh:
                continue
            with Settings(spark, case.settings):
                try:
                    answer = vars(golden.with_limits(spark, spark.sql(case.text)))
                except Exception as e:  # Spark's error is the answer
                    name = golden.error_class(e)
                    if not name:
                        raise RuntimeError(f"{case.label}: plain Spark fails without an error class: {tpch.first_lines(e)}") from e
                    answer = {"error": name}
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_suffix(".part")
            part.write_text(json.dumps(answer))
            part.rename(target)
    spark.stop()


def ensure_golden(files: list[CaseFile], fresh: bool = False) -> None:
    """Makes what is missing, in a process of its own."""
    missing = fresh or any(not f.data.exists() or any(not golden_file(f, c).exists() for c in f.cases) for f in files)
    if missing:
        command = [sys.executable, "-m", "cne_e2e.semantics", "golden"] + [f.name for f in files] + (["--fresh"] if fresh else [])
        subprocess.run(command, check=True, cwd=paths.ROOT / "tests" / "e2e")


def judge(spark, file: CaseFile, case: Case) -> tuple[str, str]:
    """Runs one case; its verdict and, for all but equal, the reason."""
    want = json.loads(golden_file(file, case).read_text())
    with Settings(spark, case.settings):
        try:
            got = session.answer(spark.sql(case.text))
        except Exception as e:  # the client's errors have no common class
            text = str(e)
            if REFUSAL.search(text):
                expected = case.refused and case.refused.lower() in text.lower()
                return "refused" if expected else "unexpected", tpch.first_lines(e, 300)
            name = golden.error_class(e)
            if want.get("error") and name == want["error"]:
                return "same-error", name
            return "wrong", f"error {name} instead of {want.get('error') or 'rows'}: {tpch.first_lines(e, 400)}"
    if want.get("error"):
        return "wrong", f"rows {got.rows[:3]} instead of error {want['error']}"
    found = difference(Answer(**want), got)
    return ("wrong", found) if found else ("equal", "")


def run(spark, files: list[CaseFile], show=print) -> dict[str, int]:
    """Judges all cases in a session attached to the pool; counts by verdict."""
    counts = {"equal": 0, "same-error": 0, "refused": 0, "unexpected": 0, "wrong": 0}
    for file in files:
        views(spark, file)
        for case in file.cases:
            verdict, reason = judge(spark, file, case)
            counts[verdict] += 1
            if verdict in ("refused", "unexpected", "wrong"):
                show(f"{verdict:<10} {case.label}: {reason}")
            elif case.refused:
                show(f"executed   {case.label}: its `refused=` can go")
    return counts


def load(names=()) -> list[CaseFile]:
    """The case files, or those named."""
    found = [CASES / f"{Path(n).stem}.sql" for n in names] or sorted(CASES.glob("*.sql"))
    return [parse(p) for p in found]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["golden", "run"])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--fresh", action="store_true", help="also answers that are cached")
    args = parser.parse_args()
    files = load(args.files)
    if args.command == "golden":
        make_golden(files, args.fresh)
        print(f"golden: {sum(len(f.cases) for f in files)} answers of Spark {paths.SPARK_VERSION} in {STORE}")
        return 0
    pool.interruptible()
    ensure_golden(files)
    with pool.temporary() as p:
        spark = session.classic(session.pool_conf(p.url))
        counts = run(spark, files, lambda line: print(line, flush=True))
        spark.stop()
    print("semantics: " + ", ".join(f"{k} {v}" for k, v in counts.items()), flush=True)
    return 0 if not counts["wrong"] and not counts["unexpected"] else 1


if __name__ == "__main__":
    sys.exit(main())
