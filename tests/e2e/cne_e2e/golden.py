"""Plain Spark's answers, made in a process of its own (no Comet jar in it) and cached by everything that decides them.

    python -m cne_e2e.golden tpch|chaos|tpcds <scale factor> [--queries q1,q3] [--ansi true|false] [--fresh]     # prints seconds per query as JSON
"""
import argparse
import hashlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import paths, queries, session
from .compare import Answer

ERROR_CLASS = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\]")


def key(*parts: str) -> str:
    """Name of a cached answer: the hash of whatever decides it."""
    return hashlib.sha256("\0".join((paths.SPARK_VERSION,) + parts).encode()).hexdigest()[:24]


def with_limits(spark, df) -> Answer:
    """Spark's answer with what is needed to judge another engine's: the ORDER BY columns and, under LIMIT, all rows."""
    got = session.answer(df)
    root = plan = df._jdf.queryExecution().analyzed()
    with_cte = root.nodeName() == "WithCTE"
    if with_cte:
        plan = root.plan()
    limited = False
    while plan.nodeName() in ("GlobalLimit", "LocalLimit"):
        limited, plan = True, plan.children().head()
    if limited:
        whole = root.copy(plan, root.cteDefs()) if with_cte else plan
        unlimited = spark._jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, whole)
        from pyspark.sql import DataFrame

        got.unlimited = session.answer(DataFrame(unlimited, spark)).rows
    output = plan.output()
    ids = [output.apply(i).exprId() for i in range(output.size())]
    # ORDER BY columns that are not in the output sit below a projection that drops them; those that are keep their ids.
    while plan.nodeName() == "Project":
        plan = plan.children().head()
    if plan.nodeName() == "Sort" and getattr(plan, "global")():
        for i in range(plan.order().size()):
            expr = plan.order().apply(i).child()
            at = [c for c, one in enumerate(ids) if expr.nodeName() == "AttributeReference" and one.equals(expr.exprId())]
            if not at:
                # What follows is ordered only within equal values of a key that cannot be seen.
                break
            got.order.append(at[0])
    return got


@dataclass(frozen=True)
class Suite:
    """Queries over the tables of a generator."""

    texts: Callable[[], dict[str, str]]
    # `tpch` or `tpcds`.
    tables: str
    # The generator is reproducible: its version and the scale stand for the data.
    generator: str

    def path_of(self, scale: str, ansi: str, text: str) -> Path:
        """File of one cached answer."""
        return paths.CACHE / "golden" / f"{key(self.generator, scale, ansi, text)}.json"


def error_class(error: Exception) -> str | None:
    """Spark's error class of a client-side exception: from the exception, or from the text of what it wraps."""
    get = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    name = get() if get else None
    if name:
        return name
    found = ERROR_CLASS.findall(str(error))
    return found[-1] if found else None


def load(file: Path) -> Answer:
    """Reads a cached answer."""
    return Answer(**json.loads(file.read_text()))


def store(file: Path, value: Answer) -> None:
    """Writes an answer so that a reader never sees half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".{time.monotonic_ns()}.part")
    part.write_text(json.dumps(vars(value)))
    part.rename(file)


SUITES = {
    "tpch": Suite(queries.tpch, "tpch", "tpchgen 4.0.0"),
    "chaos": Suite(queries.chaos, "tpch", "tpchgen 4.0.0"),
    "tpcds": Suite(queries.tpcds, "tpcds", "tpcgen 4.0.0"),
}


def tpch_answers(scale: str, ansi: str = "true", fresh: bool = False) -> tuple[dict[str, Answer], dict[str, float]]:
    """Plain Spark's answers to TPC-H."""
    return answers("tpch", scale, ansi, fresh)


def answers(suite: str, scale: str, ansi: str = "true", fresh: bool = False, names=None) -> tuple[dict[str, Answer], dict[str, float]]:
    """Plain Spark's answers to a suite or some of it, and the seconds each took when it was run now (`fresh`, or nothing was cached)."""
    texts = SUITES[suite].texts()
    files = {name: SUITES[suite].path_of(scale, ansi, texts[name]) for name in names or texts}
    seconds = {}
    if fresh or not all(f.exists() for f in files.values()):
        command = [sys.executable, "-m", "cne_e2e.golden", suite, scale, "--ansi", ansi, "--queries", ",".join(files)]
        command += ["--fresh"] if fresh else []
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=paths.ROOT / "tests" / "e2e")
        seconds = json.loads(out.stdout.splitlines()[-1])
    return {name: load(file) for name, file in files.items()}, seconds


def main() -> None:
    """Makes the answers of a suite."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("scale")
    parser.add_argument("--ansi", default="true", choices=["true", "false"])
    parser.add_argument("--queries", help="which ones, by default all")
    parser.add_argument("--fresh", action="store_true", help="run also what is cached")
    args = parser.parse_args()
    spark = session.classic({"spark.sql.ansi.enabled": args.ansi})
    if spark.version != paths.SPARK_VERSION:
        raise SystemExit(f"golden answers are Spark {paths.SPARK_VERSION}'s, this is {spark.version}")
    suite = SUITES[args.suite]
    session.views(spark, suite.tables, args.scale)
    seconds = {}
    texts = suite.texts()
    for name in args.queries.split(",") if args.queries else texts:
        text = texts[name]
        file = suite.path_of(args.scale, args.ansi, text)
        if args.fresh or not file.exists():
            start = time.monotonic()
            try:
                spark.sql(text).collect()
                got = with_limits(spark, spark.sql(text))
            except Exception as e:  # Spark's error is the answer, if it is one
                got = Answer([], [], error=error_class(e))
                if not got.error:
                    raise
            seconds[name] = time.monotonic() - start
            store(file, got)
            print(f"plain Spark: {name} {seconds[name]:.2f} s", file=sys.stderr, flush=True)
    print(json.dumps(seconds))
    spark.stop()


if __name__ == "__main__":
    main()
