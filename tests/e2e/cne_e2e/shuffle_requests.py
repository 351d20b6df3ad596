"""How many requests a shuffle of 200 map tasks and 200 reduce partitions of about 1 GiB makes, counted by a proxy before the S3 server.

    python -m cne_e2e.shuffle_requests [--scale 1] [--set CNE_DURABILITY=store]     # scale 1 is 1 GiB

The last line has the counts of the shuffle's own keys; the exit code is 0 only for at most 2 PUTs per map task and 4,000 GETs.
"""
import argparse
import shutil
import sys
import time
from collections import Counter, defaultdict

from . import paths, pool, s3, s3proxy, session

TASKS = 200
COLUMNS = 7
# With a key of 8 bytes, 16.8 million rows of 64 bytes are 1 GiB.
ROWS = 2**30 // (8 * (COLUMNS + 1))
KEYS = 1_000_000
MOST_PUTS, MOST_GETS = 2, 4000


def data(scale: float):
    """Folder with a Parquet file for each map task, made once, and the sums of its columns."""
    import numpy
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = max(1, int(ROWS * scale) // TASKS)
    folder = paths.CACHE / "shuffle" / f"{TASKS}x{rows}"
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    if not folder.exists():
        part.mkdir(parents=True)
    sums = [0] * COLUMNS
    for task in range(TASKS):
        rng = numpy.random.default_rng(task)
        # Small enough that no sum overflows, and random: nothing of it compresses much.
        values = [rng.integers(0, 2**38, rows) for _ in range(COLUMNS)]
        sums = [s + int(v.sum()) for s, v in zip(sums, values)]
        if part.exists():
            names = ["k", *(f"v{i}" for i in range(COLUMNS))]
            pq.write_table(pa.table([rng.integers(0, KEYS, rows), *values], names), part / f"{task:03}.parquet", compression="none",
                           use_dictionary=False)
    if part.exists():
        part.rename(folder)
    return folder, rows * TASKS, sums


def of_the_shuffle(requests) -> list:
    """The requests to the objects of the stage that put the most bytes, each with its map partition."""
    stages = defaultdict(list)
    for r in requests:
        # .../job/stage/map partition/object; what lists or removes many objects names a prefix alone.
        if len(parts := r.path.split("/")) > 4 and parts[-2].isdigit():
            stages[parts[-4], parts[-3]].append((parts[-2], r))
    return max(stages.values(), key=lambda found: sum(r.sent for _, r in found), default=[])


def summary(requests, everything: Counter) -> tuple[str, int]:
    """The last line, and the exit code."""
    found = of_the_shuffle(requests)
    writes = [(p, r) for p, r in found if r.verb in ("PUT", "POST") and r.status < 300]
    tasks = len({p for p, _ in writes})
    puts = len(writes) / tasks if tasks else 0
    reads = [r for _, r in found if r.verb == "GET"]
    line = (f"shuffle-requests: map tasks {tasks}, reduce partitions {TASKS}, bytes {sum(r.sent for _, r in writes)}, PUTs per map task {puts:.2f}, "
            f"GETs {len(reads)} of {sum(r.received for r in reads)} bytes; of all keys: DELETEs {everything['DELETE']}, LISTs {everything['LIST']}")
    return line, 0 if tasks == TASKS and 0 < puts <= MOST_PUTS and len(reads) <= MOST_GETS else 1


def main() -> int:
    """Runs the shuffle."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--server", default="versitygw", choices=["versitygw", "seaweedfs"])
    parser.add_argument("--set", action="append", default=[], help="a setting of the pool, NAME=VALUE (repeatable)")
    args = parser.parse_args()
    from pyspark.sql import functions

    pool.interruptible()
    folder, rows, sums = data(args.scale)
    largest = max(f.stat().st_size for f in folder.iterdir())
    settings = dict(s.split("=", 1) for s in args.set)
    with s3.Server(args.server) as server, s3proxy.Proxy(server.address) as proxy:
        def environment(name: str) -> dict:
            return server.environment(proxy.address(name), unsigned=True) | settings

        with pool.temporary(slots=1, storage_url=f"s3://{s3.BUCKET}/pool", executor_env=environment, scheduler_env=settings) as p:
            spark = session.classic(session.pool_conf(p.url))
            # One file for each map task.
            spark.conf.set("spark.sql.files.maxPartitionBytes", str(largest))
            table = spark.read.parquet(str(folder))
            names = [f"v{i}" for i in range(COLUMNS)]
            by_key = table.repartition(TASKS, "k").groupBy("k").agg(functions.count("*").alias("c"), *(functions.sum(n).alias(n) for n in names))
            start = time.monotonic()
            got = by_key.agg(functions.sum("c"), *(functions.sum(n) for n in names)).collect()[0]
            seconds = time.monotonic() - start
            spark.stop()
    right = list(got) == [rows, *sums]
    print(f"{rows} rows in {seconds:.1f} s, {'right' if right else f'WRONG: {list(got)} instead of {[rows, *sums]}'}")
    print("all requests: " + ", ".join(f"{k} {n}" for k, n in sorted(proxy.counts().items())))
    line, code = summary(proxy.requests, proxy.counts())
    print(line, flush=True)
    return code if right else 1


if __name__ == "__main__":
    sys.exit(main())
