"""What the fault recipes share: a pool on S3 behind a proxy and a Spark session, and how queries run on them undisturbed."""
import shutil
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from cne_e2e import golden, paths, pool, queries, s3, s3proxy, session
from cne_e2e.running import Running

from . import ledger

# Over ten times the undisturbed time plus this is hung.
HUNG_SECONDS = 60
DRAIN_SECONDS = 30
DURABILITY = "CNE_DURABILITY"
# How outputs are stored: the durability, and settings of the executors. With `+objects` each output has an object of its own, however small.
MODES = {"store": ("store", {}), "store+objects": ("store", {"CNE_INLINE_BYTES": "0"}), "write-behind": ("write-behind", {})}
# Queries over the TPC-H tables.
SUITES = ("tpch", "chaos")
# An executor more, of which the harness knows nothing but its log.
FULL_DISK = "executor-full"


@dataclass
class Undisturbed:
    """What a query did without a fault."""

    seconds: float
    tasks: int
    requests: Counter
    # What its tasks made: query, stage, partition.
    outputs: set[tuple]

    @property
    def limit(self) -> float:
        """Seconds after which a run with a fault is hung."""
        return 10 * self.seconds + HUNG_SECONDS


def answers(scale: str, suites=SUITES) -> tuple[dict[str, str], dict]:
    """Texts and plain Spark's answers."""
    texts, want = {}, {}
    for suite in suites:
        texts |= golden.SUITES[suite].texts()
        want |= golden.answers(suite, scale)[0]
    return texts, want


class Harness:
    """A pool, a proxy and a Spark session that stay; what is broken by a run is made whole after it."""

    def __init__(self, scale: str, server: s3.Server, proxy: s3proxy.Proxy, mode: str = "store", suites=SUITES):
        self.proxy, self.mode = proxy, mode
        self.texts, self.want = answers(scale, suites)

        def environment(name: str) -> dict:
            # Little memory where the disk is to be full, so that it is used.
            memory = {"CNE_MEMORY_BYTES": "512KiB", "CNE_TASK_SLOTS": "2"} if name == FULL_DISK else {}
            return server.environment(proxy.address(name)) | memory | MODES[self.mode][1]

        self.pool = pool.temporary(slots=1, storage_url=f"s3://{s3.BUCKET}/pool", executor_env=environment,
                                   scheduler_env={DURABILITY: MODES[mode][0]})
        self.names = [f"executor-{i}" for i in range(1, self.pool.count + 1)]
        self.undisturbed: dict[tuple, Undisturbed] = {}
        self.logs: dict[str, ledger.Log] = {}
        self.pool.start()
        self.spark = session.classic(session.pool_conf(self.pool.url))
        session.tpch_views(self.spark, scale)

    def __enter__(self) -> "Harness":
        return self

    def __exit__(self, *_) -> None:
        self.spark.stop()
        self.pool.stop()

    def configure(self, mode: str) -> None:
        """Starts everything again in another mode."""
        if mode != self.mode:
            self.mode = mode
            self.pool.scheduler_env[DURABILITY] = MODES[mode][0]
            for name in list(self.pool.processes):
                self.pool.kill(name)
            self.heal()

    def start(self, name: str) -> Running:
        """A query that is not started yet."""
        return Running(self.pool, self.spark, name, self.want[name], self.texts[name])

    def baseline(self, name: str) -> Undisturbed:
        """How a query runs without a fault in the present mode; the second time, when the JVM knows it."""
        key = (name, self.mode)
        for _ in range(0 if key in self.undisturbed else 2):
            self.started()
            since, query = len(self.proxy.requests), self.start(name)
            query.start()
            query.reach(float("inf"), 0)
            query.join(300)
            if query.result is None or query.result.difference:
                raise SystemExit(f"{name} is wrong without any fault: {query.result and query.result.difference}")
            requests = [r for r in self.proxy.requests[since:] if r.time >= query.started]
            outputs = {s.output for s in self.started()}
            self.undisturbed[key] = Undisturbed(query.result.seconds, len(outputs), Counter(r.kind for r in requests), outputs)
        return self.undisturbed[key]

    def outcome(self, query: Running, seconds: float) -> str:
        """How a started query ends within so long: `right`, the difference, or `hung`; it is not left running."""
        query.join(max(1, seconds))
        if not query.is_alive():
            return query.result.difference or "right"
        self.cancel(query)
        return "hung"

    def cancel(self, query: Running) -> None:
        """Ends a query that hangs."""
        self.spark.sparkContext.cancelAllJobs()
        query.join(30)

    def keep_logs(self, name: str) -> Path:
        """Copies the logs of all processes to where they stay."""
        kept = paths.CACHE / "chaos" / name
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        for log in self.pool.state.glob("*.log"):
            shutil.copy(log, kept)
        return kept

    def reruns(self, since: int, undisturbed: Undisturbed) -> tuple[int, set[tuple], str]:
        """Tasks that began since the last call although their output was committed, by the requests from the `since`-th on: how many, their
        stages, and which in words."""
        committed = ledger.commits(self.proxy.requests[since:])
        started = self.started()
        again = ledger.reruns(committed, started)
        renamed = ledger.under_other_names(committed, started, undisturbed.outputs)
        text = "; run again after their commit: " + ", ".join("/".join(s.output) for s in again[:5]) if again else ""
        if renamed:
            text += f"; {renamed} outputs made again under another name"
        return len(again) + renamed, {s.output[:2] for s in again}, text

    def started(self) -> list[ledger.Start]:
        """Tasks that the executors' logs say began since the last call."""
        found = []
        for name in [*self.names, FULL_DISK]:
            log = self.logs.setdefault(name, ledger.Log(self.pool.state / f"{name}.log"))
            found += ledger.starts(log.lines())
        return found

    def heal(self) -> None:
        """Two live executors and a scheduler. A process that has ended gets a successor, as under a supervisor."""
        for _ in range(4):
            for name in ["scheduler", *self.names]:
                if name in self.pool.processes and self.pool.processes[name].poll() is not None:
                    self.pool.ended(name, 1)
                if name not in self.pool.processes:
                    self.pool.start_scheduler() if name == "scheduler" else self.pool.start_executor(name)
            try:
                return self.pool.wait_healthy(60)
            except RuntimeError:
                if all(p.poll() is None for p in self.pool.processes.values()):
                    print(f"the pool does not get well; logs in {self.keep_logs(f'unwell-{int(time.time())}')}", flush=True)
                    raise
        self.pool.wait_healthy(60)
