"""The settings under which a semantics case is run besides its own: session zone, partitions, batch size. Plain Spark's answer depends on the zone
alone; the other two must not change it."""
from dataclasses import dataclass

ZONE = "spark.sql.session.timeZone"
ZONES = ("UTC", "America/Los_Angeles", "Asia/Kolkata")
PARTITIONS = (1, 2, 7)
BATCHES = (8192, 2)
# A file that costs as much as a partition may hold is one of its own, however small it is.
FILE_PER_PARTITION = {"spark.sql.files.openCostInBytes": str(128 << 20)}


@dataclass(frozen=True)
class Cell:
    """One point of the matrix. `partitions` is that of the tables and of shuffles; 0 leaves both as the case file and Spark have them."""

    zone: str = "UTC"
    partitions: int = 0
    batch: int = 8192

    @property
    def label(self) -> str:
        """Short name in messages; empty for the usual one."""
        return "" if self == USUAL else f"{self.zone},{self.partitions}p,batch {self.batch}"

    @property
    def spark(self) -> dict[str, str]:
        """What plain Spark's answer depends on. UTC is every session's own."""
        return {} if self.zone == "UTC" else {ZONE: self.zone}

    @property
    def settings(self) -> dict[str, str]:
        """All of it, for a session attached to the pool."""
        out = self.spark | {"spark.comet.batchSize": str(self.batch)}
        if self.partitions:
            out |= FILE_PER_PARTITION | {"spark.sql.shuffle.partitions": str(self.partitions)}
        return out


USUAL = Cell()
# Every two values of two dimensions meet in one of them.
PAIRS = tuple(Cell(zone, partitions, BATCHES[(i + j) % 2]) for i, zone in enumerate(ZONES) for j, partitions in enumerate(PARTITIONS))
ALL = tuple(Cell(zone, partitions, batch) for zone in ZONES for partitions in PARTITIONS for batch in BATCHES)
# Far from the usual one in every dimension: the slice of the matrix that CI runs.
FAR = Cell("America/Los_Angeles", 7, 2)
NAMED = {"usual": (USUAL,), "far": (FAR,), "pairs": PAIRS, "all": ALL}
