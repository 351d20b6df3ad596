"""How fast an executor starts and how small it is at rest.

    python -m cne_e2e.coldstart [--rounds 3] [--starts 100]

Each start is a process of its own against one scheduler. `registered` is the time from the start of the process to the scheduler's
counting it, seen by asking the scheduler again and again; `idle RSS` the highest resident memory of executors that have done nothing
for two seconds; `zero to row` the longest time from the start of the process to the first row at the client, of a query that was submitted
when there was no executor. Each figure is the best of the rounds. For figures that mean something: release binaries and an idle machine.
"""
import argparse
import json
import statistics
import sys
import threading
import time
import uuid
from pathlib import Path

from . import pool, wire

# Of each round: the starts after which the resident memory is read, and those that a query waits for.
RESTS = QUERIES = 10
REST_SECONDS = 2.0


class Watch:
    """Asks the scheduler over one open connection."""

    def __init__(self, p: pool.Pool):
        from pyarrow import flight

        self.client = flight.connect(p.url)
        self.action = flight.Action("comet.health", b"")

    def executors(self) -> int:
        """How many are registered."""
        return len(json.loads(next(iter(self.client.do_action(self.action))).body.to_pybytes())["executors"])

    def wait(self, count: int, seconds: float = 30) -> None:
        """Waits until so many are registered."""
        end = time.perf_counter() + seconds
        while self.executors() != count:
            assert time.perf_counter() < end, f"not {count} executors after {seconds} s"
            time.sleep(0.001)


def rss_mib(pid: int) -> float:
    """Resident memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


class Waiting(threading.Thread):
    """A query of one row that is submitted at once and read as soon as it can be."""

    def __init__(self, p: pool.Pool):
        super().__init__(daemon=True)
        self.pool, self.row_at, self.error = p, None, None

    def run(self) -> None:
        from pyarrow import flight

        try:
            info = wire.submit(self.pool.flight, wire.request(str(uuid.uuid4()), stages=[wire.rows_stage(1)]), timeout=60)
            with flight.connect(info.endpoints[0].locations[0].uri) as client:
                batch = client.do_get(info.endpoints[0].ticket).read_chunk().data
            self.row_at = time.perf_counter()
            assert batch.num_rows == 1
        except Exception as e:  # shown by whoever waits for the row
            self.error = e


def one(p: pool.Pool, watch: Watch, rest: bool, query: bool) -> dict[str, float]:
    """One start and its end."""
    found = {}
    waiting = Waiting(p) if query else None
    if waiting:
        before = len(p.query_list())
        waiting.start()
        while len(p.query_list()) == before:
            time.sleep(0.01)
    start = time.perf_counter()
    p.start_executor("executor-1")
    watch.wait(1)
    found["registered"] = (time.perf_counter() - start) * 1000
    if waiting:
        waiting.join(60)
        if waiting.row_at is None:
            raise RuntimeError(f"no row: {waiting.error}\n{p.log_tail('executor-1')}")
        found["row"] = (waiting.row_at - start) * 1000
    if rest:
        time.sleep(REST_SECONDS)
        found["rss"] = rss_mib(p.processes["executor-1"].pid)
    code, _ = p.drain("executor-1")
    assert code == 0, f"exit code {code}\n{p.log_tail('executor-1')}"
    watch.wait(0)
    return found


def measure(p: pool.Pool, watch: Watch, starts: int) -> dict[str, float]:
    """One round."""
    runs = [one(p, watch, i < RESTS, False) for i in range(starts)]
    rows = [one(p, watch, False, True) for _ in range(min(QUERIES, starts))]
    registered = sorted(r["registered"] for r in runs)
    return {"p50": statistics.median(registered), "p99": registered[max(0, -(-len(registered) * 99 // 100) - 1)],
            "rss": max(r["rss"] for r in runs if "rss" in r), "row": max(r["row"] for r in rows)}


def summary(rounds: list[dict[str, float]]) -> str:
    """The last line."""
    best = {key: min(r[key] for r in rounds) for key in rounds[0]}
    return ("coldstart: registered p50 {p50:.0f} ms p99 {p99:.0f} ms, idle RSS {rss:.0f} MiB, zero to row {row:.0f} ms").format(**best)


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--starts", type=int, default=100)
    args = parser.parse_args()
    pool.interruptible()
    rounds = []
    with pool.temporary(executors=0) as p:
        watch = Watch(p)
        one(p, watch, False, True)  # not counted: files come from the disk
        for number in range(1, args.rounds + 1):
            rounds.append(measure(p, watch, args.starts))
            print(f"round {number}: " + ", ".join(f"{k} {v:.1f}" for k, v in rounds[-1].items()), flush=True)
    print(summary(rounds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
