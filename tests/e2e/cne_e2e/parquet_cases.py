"""Cases of Parquet scans: how the files are written, how they are read, what is asked; judged by plain Spark in the same session.

    python -m cne_e2e.parquet_cases [NAME...]        # last line `parquet: equal E, same-error S, failed F, refused R, wrong W`

Names that begin with P are rows of a list of faults that engines like this one had.
"""
import json
import shutil
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql.types import StructType

from . import golden, paths, pool, session, tpch
from .compare import difference
from .semantics import REFUSAL, Settings

# Set, never unset: what is unset falls back to off, not to what the session began with.
PLAIN = {session.ENABLED: "false", "spark.comet.enabled": "false"}
POOL = {session.ENABLED: "true", "spark.comet.enabled": "true"}
FAST = (("spark.sql.shuffle.partitions", "2"),)
READ_FAILS = "CNE-2013"


@dataclass(frozen=True)
class Case:
    """One query over files of its own."""

    name: str
    # Writes the table into a folder, in a session without pool and Comet.
    write: Callable
    query: str = "SELECT * FROM t"
    # The schema to read by, in SQL or as Spark's JSON; Spark infers it when empty.
    schema: str = ""
    options: dict = field(default_factory=dict)
    settings: dict = field(default_factory=dict)
    # What the pool names when it refuses the query.
    refused: str = ""
    # What a task says that cannot read the file as Spark does (CNE-2013), where Spark gives rows.
    fails: str = ""


def read(spark, case: Case, folder: Path):
    """The query of a case as a data frame."""
    reader = spark.read.options(**case.options)
    if case.schema.startswith("{"):
        reader = reader.schema(StructType.fromJson(json.loads(case.schema)))
    elif case.schema:
        reader = reader.schema(case.schema)
    reader.parquet(str(folder)).createOrReplaceTempView("t")
    return spark.sql(case.query.replace("{files}", f"parquet.`{folder}`"))


def attempt(spark, case: Case, folder: Path):
    """The answer, or the error."""
    try:
        return session.answer(read(spark, case, folder))
    except Exception as e:  # the client's errors have no common class
        return e


def switch(spark, to: dict) -> None:
    """To plain Spark, or to the pool."""
    for key, value in to.items():
        spark.conf.set(key, value)


def judge(spark, case: Case, folder: Path) -> tuple[str, str]:
    """Writes the files and runs the query twice; the verdict and, for all but equal, the reason. The session ends on the pool."""
    settings = tuple(case.settings.items()) + FAST
    try:
        switch(spark, PLAIN)
        case.write(spark, folder)
        with Settings(spark, settings):
            want = attempt(spark, case, folder)
    finally:
        switch(spark, POOL)
    with Settings(spark, settings):
        got = attempt(spark, case, folder)
    return verdict_of(case, want, got)


def verdict_of(case: Case, want, got) -> tuple[str, str]:
    """The verdict on what the pool gave, and the reason."""
    if not isinstance(got, Exception):
        if isinstance(want, Exception):
            return "wrong", f"rows {got.rows[:3]} instead of error {golden.error_class(want)}: {tpch.first_lines(want, 300)}"
        found = difference(want, got)
        return ("wrong", found) if found else ("equal", "")
    text = str(got)
    if REFUSAL.search(text):
        return ("refused" if case.refused and case.refused in text else "wrong"), tpch.first_lines(got, 300)
    if READ_FAILS in text:
        return ("failed" if case.fails and case.fails in text else "wrong"), tpch.first_lines(got, 300)
    name = golden.error_class(got)
    if isinstance(want, Exception) and name and name == golden.error_class(want):
        return "same-error", name
    expected = golden.error_class(want) if isinstance(want, Exception) else f"rows {want.rows[:3]}"
    return "wrong", f"error {name} instead of {expected}: {tpch.first_lines(got, 400)}"


def expected(case: Case, verdict: str) -> bool:
    """Whether the verdict is the one that the case asks for."""
    return verdict in ("equal", "same-error") or verdict == ("refused" if case.refused else "failed" if case.fails else "")


class Folder:
    """A folder below the roots that executors may read, gone at the end of the block."""

    def __enter__(self) -> Path:
        self.path = paths.CACHE / "run" / f"parquet-{uuid.uuid4()}"
        self.path.mkdir(parents=True)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path)


def main() -> int:
    """Command line."""
    from .parquet_table import CASES

    chosen = [case for case in CASES if len(sys.argv) == 1 or any(name in case.name for name in sys.argv[1:])]
    counts = {"equal": 0, "same-error": 0, "failed": 0, "refused": 0, "wrong": 0}
    pool.interruptible()
    with pool.temporary() as p, Folder() as folder:
        spark = session.classic(session.pool_conf(p.url))
        for number, case in enumerate(chosen):
            verdict, reason = judge(spark, case, folder / str(number))
            right = expected(case, verdict)
            counts[verdict if right else "wrong"] += 1
            if verdict != "equal" or not right:
                print(f"{verdict if right else 'wrong':<10} {case.name}: {reason}", flush=True)
        spark.stop()
    print("parquet: " + ", ".join(f"{k} {v}" for k, v in counts.items()), flush=True)
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
