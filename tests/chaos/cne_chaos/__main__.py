"""Queries on a pool of real processes with a real S3 server, and a fault in each.

    python -m cne_chaos 500 1 [--scale 0.01] [--kinds "kill fetch,s3 lost"] [--queries q1,shuffle]

The seed decides kinds, queries and points; what the machine's timing does with them differs from run to run. The last line is
`runs R, right A, fired F, wrong W, hung H, failed-typed T, tasks rerun after commit C`; see ../README.md.
"""
import argparse
import random
import re
import shutil
import subprocess
import sys
import time
import traceback
from collections import Counter

from cne_e2e import golden, paths, pool, queries, s3, s3proxy, session
from cne_e2e.running import Running

from . import kinds, ledger, report
from .kinds import Injector, Run, Undisturbed

# Over ten times the undisturbed time plus this is hung.
HUNG_SECONDS = 60
DRAIN_SECONDS = 30
_CODE = re.compile(r"CNE-\d{4}")


def has_setting(name: str) -> bool:
    """Whether the executor knows a setting."""
    out = subprocess.run([paths.binary("comet-executor"), "--help"], capture_output=True, text=True)
    return name in out.stdout


class Harness:
    """A pool, a proxy and a Spark session that stay; what is broken by a run is made whole after it."""

    def __init__(self, seed: int, scale: str, texts: dict, want: dict, server: s3.Server, proxy: s3proxy.Proxy):
        self.seed, self.texts, self.want, self.proxy = seed, texts, want, proxy
        self.settings: dict[str, str] = {}

        def environment(name: str) -> dict:
            # Little memory where the disk is to be full, so that it is used.
            memory = {"CNE_MEMORY_BYTES": "512KiB", "CNE_TASK_SLOTS": "2"} if name == kinds.FullDisk.NAME else {}
            return server.environment(proxy.address(name)) | self.settings | memory

        self.pool = pool.temporary(slots=1, storage_url=f"s3://{s3.BUCKET}/pool", executor_env=environment)
        self.names = [f"executor-{i}" for i in range(1, self.pool.count + 1)]
        self.pool.start()
        self.spark = session.classic(session.pool_conf(self.pool.url))
        session.tpch_views(self.spark, scale)
        self.undisturbed: dict[tuple, Undisturbed] = {}
        self.logs: dict[str, ledger.Log] = {}

    def close(self) -> None:
        """Ends everything."""
        self.spark.stop()
        self.pool.stop()

    def configure(self, settings: dict[str, str]) -> None:
        """Starts the executors again, with these settings."""
        if settings != self.settings:
            self.settings = settings
            for name in self.names:
                self.pool.kill(name)
            self.heal()

    def start(self, name: str) -> Running:
        """A query that is not started yet."""
        return Running(self.pool, self.spark, name, self.want[name], self.texts[name])

    def baseline(self, name: str) -> Undisturbed:
        """How a query runs without a fault in the present settings; the second time, when the JVM knows it."""
        key = (name, tuple(self.settings.items()))
        for _ in range(0 if key in self.undisturbed else 2):
            since, query = len(self.proxy.requests), self.start(name)
            query.start()
            query.reach(float("inf"), 0)
            query.join(300)
            if query.result is None or query.result.difference:
                raise SystemExit(f"{name} is wrong without any fault: {query.result and query.result.difference}")
            counts = Counter(r.kind for r in self.proxy.requests[since:] if r.time >= query.started)
            self.undisturbed[key] = Undisturbed(query.result.seconds, sum(query.done.values()), counts)
        return self.undisturbed[key]

    def one(self, run: Run, rng: random.Random) -> None:
        """Runs a query with a fault, and makes the pool whole again."""
        undisturbed = self.baseline(run.query)
        self._started()
        since = len(self.proxy.requests)
        query = self.start(run.query)
        injector = Injector(self.pool, self.proxy, rng, run, undisturbed, query)
        limit = 10 * undisturbed.seconds + HUNG_SECONDS
        begin = time.monotonic()
        try:
            injector.prepare()
            query.start()
            injector.inject()
            while query.is_alive() and time.monotonic() - begin < limit:
                injector.watch()
                query.join(0.02)
            injector.watch()
            run.seconds = time.monotonic() - begin
            if injector.fault:
                injector.proof_of_s3(injector.fault)
            self._judge(run, query)
        finally:
            self.proxy.disarm()
            for name in list(injector.paused):
                injector.resume(name)
            if injector.disk:
                injector.disk.end()
        if query.is_alive():
            self.spark.sparkContext.cancelAllJobs()
            query.join(30)
        for name in injector.drained:
            code = self.pool.ended(name, DRAIN_SECONDS)
            if code != 0 and run.outcome == "right":
                run.outcome = f"after SIGTERM {name} " + ("did not end" if code is None else f"ended with {code}")
        self.heal()
        committed = ledger.commits(self.proxy.requests[since:])
        again = ledger.reruns(committed, self._started())
        run.reruns = len(again)
        if again:
            run.what += "; run again after their commit: " + ", ".join("/".join(s.output) for s in again[:5])
        if report.outcome(run) in ("wrong", "hung") or run.reruns:
            kept = paths.CACHE / "chaos" / f"{self.seed}-{run.number}"
            shutil.rmtree(kept, ignore_errors=True)
            kept.mkdir(parents=True)
            for log in self.pool.state.glob("*.log"):
                shutil.copy(log, kept)
            run.what += f"; logs in {kept}"

    def _judge(self, run: Run, query: Running) -> None:
        if query.is_alive() or query.result is None:
            run.outcome = "hung"
        elif not query.result.difference:
            run.outcome = "right"
        elif not query.result.failed:
            run.outcome = query.result.difference
        else:
            run.error = query.result.difference
            found = set(_CODE.findall(run.error))
            if not found:
                run.outcome = f"failed without a code: {run.error}"
            elif not found & kinds.codes(run.kind):
                run.outcome = f"failed with another cause: {run.error}"
            else:
                run.outcome = "failed-typed"

    def _started(self) -> list[ledger.Start]:
        """Tasks that the executors' logs say began since the last call."""
        found = []
        for name in [*self.names, kinds.FullDisk.NAME]:
            log = self.logs.setdefault(name, ledger.Log(self.pool.state / f"{name}.log"))
            found += ledger.starts(log.lines())
        return found

    def heal(self) -> None:
        """Two live executors and a scheduler. One that was taken for lost ends by itself when it hears of it, as a supervisor would expect."""
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
                    raise
        self.pool.wait_healthy(60)


def plan(runs: int, rng: random.Random, names: list[str], of: list[str]) -> list[Run]:
    """Kinds dealt out in rounds, so that each has its share; a query for each."""
    out: list[Run] = []
    while len(out) < runs:
        for kind in rng.sample(names, len(names)):
            # One has a result that takes a while to read, another one spills.
            query = "result" if kind.endswith("doget") else "shuffle" if kind == "disk full" else rng.choice(of)
            out.append(Run(len(out) + 1, kind, query))
    return out[:runs]


def main() -> int:
    """Runs the faults."""
    parser = argparse.ArgumentParser(prog="cne_chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--scale", default="0.01")
    parser.add_argument("--kinds", default=",".join(kinds.NAMES))
    parser.add_argument("--queries", help="which queries, by default TPC-H's and `shuffle`")
    args = parser.parse_args()
    pool.interruptible()
    rng = random.Random(args.seed)
    texts = queries.tpch() | queries.chaos()
    want = golden.tpch_answers(args.scale)[0] | golden.tpch_answers(args.scale, suite="chaos")[0]
    of = args.queries.split(",") if args.queries else [q for q in texts if q != "result"]
    chosen = args.kinds.split(",")
    if unknown := set(chosen) - set(kinds.NAMES) | set(of) - set(texts):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; kinds are {', '.join(kinds.NAMES)}")
    why_not = kinds.disks_can_be_full(paths.CACHE / "run")
    if why_not and "disk full" in chosen:
        print(f"no `disk full` here, a file system cannot be mounted: {why_not}", flush=True)
        chosen.remove("disk full")
    durability = "CNE_DURABILITY"
    settings = [{durability: "store"}, {}] if has_setting(durability) else [{}]
    if len(settings) == 1:
        print(f"this build has no {durability}: every run is with what it does", flush=True)
    runs: list[Run] = []
    planned = plan(args.runs, rng, chosen, of)
    with s3.Server() as server, s3proxy.Proxy(server.address) as proxy:
        harness = Harness(args.seed, args.scale, texts, want, server, proxy)
        try:
            for at, setting in enumerate(settings):
                # One after the other: whole rounds of all kinds with each, as far as there are so many.
                harness.configure(setting)
                for run in planned[at * len(planned) // len(settings):(at + 1) * len(planned) // len(settings)]:
                    harness.one(run, random.Random(f"{args.seed}-{run.number}"))
                    runs.append(run)
                    print(f"{run.number:>3} {setting.get(durability, 'default'):<8} {run.query:<7} {run.kind:<18} {'fired' if run.fired else 'MISSED'} "
                          f"{run.outcome} after {run.seconds:.1f} s: {run.what}" + (f" | {run.error}" if run.error else ""), flush=True)
        except Exception as e:
            # A pool that cannot be made whole is the end, and what was seen until then counts.
            traceback.print_exc()
            print(f"the harness ends: {type(e).__name__}", flush=True)
        finally:
            harness.close()
    print(report.table(runs))
    line, code = report.summary(runs, args.runs)
    print(line, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
