"""Case files of SQL (tests/semantics/cases): their form, their tables and where plain Spark's answers to them are.

A file consists of blocks, each begun by a line `--- ...`:

    --- table NAME [files=N] [fixed=yes] [char=COLUMN:N]
                                           the SELECT below it is written as N Parquet files by plain Spark and is the view NAME; `fixed` keeps
                                           that number wherever a run asks for another, for answers that depend on it; with `char` it is a table
                                           of the catalog, in which that column is CHAR(N)
    --- case NAME [KEY=VALUE...] [folding=yes] [folded=yes] [shown=yes] [dropna=yes] [refused=TEXT]
                                           the query below it; KEY is a Spark setting (`ansi` is short for spark.sql.ansi.enabled); a case
                                           without `ansi` runs with ANSI on and off; `folding` leaves the optimizer's constant folding on, for what
                                           has no message before it; `folded` says that the driver answers it alone; `shown` compares the text
                                           that `DataFrame.show` prints; `dropna` takes the rows without NULL
                                           of its frame; `refused=` and the rest of the line say what the pool names when it refuses the query
"""
import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import golden, paths, session
from .cells import USUAL, ZONE, Cell
from .compare import Answer

CASES = paths.ROOT / "tests" / "semantics" / "cases"
STORE = paths.CACHE / "semantics"
ANSI = "spark.sql.ansi.enabled"
EXCLUDED = "spark.sql.optimizer.excludedRules"
OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer."
# What the driver excludes itself, unless the session says something else.
FOLDED = {EXCLUDED: OPTIMIZER + "MergeScalarSubqueries"}
UNFOLDED = {EXCLUDED: ",".join(OPTIMIZER + rule for rule in ("ConstantFolding", "ConvertToLocalRelation", "MergeScalarSubqueries"))}


@dataclass(frozen=True)
class Case:
    """One query under one set of settings."""

    file: str
    name: str
    settings: tuple
    text: str
    # What a refusal of it names; empty for a query that is to be executed.
    refused: str = ""
    # Whether the driver answers it without the pool.
    folded: bool = False
    # Whether its answer is the text that `show` prints.
    shown: bool = False
    # Whether its rows with a NULL are dropped, as only data frames can say.
    dropna: bool = False

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"{self.file}:{self.name}[ansi={dict(self.settings)[ANSI]}]"

    def fits(self, cell: Cell) -> bool:
        """Whether the cell says something that the case does not say itself: one that fixes its zone runs in one zone."""
        return ZONE not in dict(self.settings) or cell.zone == USUAL.zone


@dataclass(frozen=True)
class Table:
    """A table of a case file."""

    files: int
    text: str
    fixed: bool = False
    # A column and its length, `name:N`, that is CHAR(N) in the catalog.
    char: str = ""


@dataclass(frozen=True)
class CaseFile:
    """A parsed file: tables by view name, and cases."""

    name: str
    tables: dict[str, Table]
    cases: list[Case]

    @property
    def data(self) -> Path:
        """Folder of its tables: named by what they are made of."""
        text = json.dumps([paths.SPARK_VERSION, {name: (table.files, table.text) for name, table in self.tables.items()}])
        return STORE / "tables" / f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def table(self, name: str, partitions: int = 0) -> Path:
        """Folder of one table's files, cut into so many unless it is fixed or `partitions` is 0."""
        cut = 0 if self.tables[name].fixed else partitions
        return self.data / (f"{name}-{cut}" if cut else name)


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
            tables[name] = Table(int(settings.get("files", 1)), text, "fixed" in settings, settings.get("char", ""))
        elif kind == "case":
            ansi, folded = settings.pop("ansi", None), settings.pop("folded", None)
            shown, dropna = settings.pop("shown", None), settings.pop("dropna", None)
            settings |= FOLDED if settings.pop("folding", None) else {}
            for value in [ansi] if ansi else ["true", "false"]:
                cases.append(Case(path.stem, name, tuple(sorted((settings | {ANSI: value}).items())), text, refused, folded is not None, shown is not None, dropna is not None))
        else:
            raise ValueError(f"{path}:{number}: a block is `table` or `case`, not `{kind}`")
    return CaseFile(path.stem, tables, cases)


def load(names=()) -> list[CaseFile]:
    """The case files, or those named."""
    found = [CASES / f"{Path(n).stem}.sql" for n in names] or sorted(CASES.glob("*.sql"))
    return [parse(p) for p in found]


def golden_file(file: CaseFile, case: Case, cell: Cell = USUAL) -> Path:
    """Where plain Spark's answer to a case is kept."""
    settings = sorted((cell.spark | dict(case.settings)).items())
    return STORE / "golden" / f"{golden.key(str(file.data), json.dumps(settings), case.text)}.json"


def views(spark, file: CaseFile, partitions: int = 0) -> None:
    """Registers the tables of a file."""
    for name, table in file.tables.items():
        folder = file.table(name, partitions)
        if table.char:
            char_table(spark, name, table, folder)
        else:
            spark.read.parquet(str(folder)).createOrReplaceTempView(name)


def char_table(spark, name: str, table: Table, folder: Path) -> None:
    """A table of the catalog over the files of a table."""
    column, length = table.char.split(":")
    types = {f.name: f.dataType.simpleString() for f in spark.read.parquet(str(folder)).schema} | {column: f"CHAR({length})"}
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql(f"CREATE TABLE {name} ({', '.join(f'{n} {t}' for n, t in types.items())}) USING parquet LOCATION '{folder}'")


def frame(spark, case: Case):
    """The data frame of a case."""
    found = spark.sql(case.text)
    return found.dropna() if case.dropna else found


def answer(case: Case, frame) -> Answer:
    """The answer of a session to a case."""
    if case.shown:
        return Answer([["shown", "string"]], [[frame._jdf.showString(1000, 0, False)]])
    return session.answer(frame)


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


def write_tables(spark, file: CaseFile, partitions: int) -> None:
    """Writes the tables of a file that are missing, with plain Spark in the zone UTC."""
    for name, table in file.tables.items():
        target, own = file.table(name, partitions), file.table(name)
        if target.exists():
            continue
        part = target.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        if target == own:
            # The rows of a table are made by the legacy mode, so that a case file can hold values ANSI would refuse to cast.
            with Settings(spark, [(ANSI, "false")]):
                spark.sql(table.text).repartition(table.files).write.parquet(str(part))
        else:
            spark.read.parquet(str(own)).repartition(partitions).write.parquet(str(part))
        part.rename(target)
