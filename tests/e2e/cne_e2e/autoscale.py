"""From no executor to some and back, under TPC-H: what KEDA and Kubernetes do on a cluster is done here with processes.

    python -m cne_e2e.autoscale [--executors 3] [--bursts 2] [--scale 0.1]

A loop asks the scheduler's external scaler for the wanted number of executors, as KEDA does, starts processes and ends idle ones with
SIGTERM. A Spark session runs bursts of queries; between two bursts the pool goes back to zero. The last line is
`scale 0->N->0: ok, first executor X ms, back to zero Y s, right R/R`: N is the most executors at one time, X the longest time from the
scaler's first answer above zero to a registered executor, Y the longest time from the last row of a burst to the end of the last
process. The exit code is 0 only if it says ok.
"""
import argparse
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

from . import golden, pool, session, tpch, wire

METRIC = "comet_executors_wanted"
QUERIES = ("q1", "q3", "q5", "q6", "q9", "q12", "q13", "q18")
# A pool that has not come back to zero by then will not.
STUCK_SECONDS = 300
# Idle executors are ended first; when there is none for so long, one that works is drained.
PATIENCE_SECONDS = 5


class Scaler:
    """The scheduler's external scaler, called as KEDA calls it."""

    def __init__(self, address: str):
        import grpc

        self.channel = grpc.insecure_channel(address)
        self.reference = wire.blob(1, "comet-executor") + wire.blob(2, "default")

    def _call(self, method: str, request: bytes) -> bytes:
        return self.channel.unary_unary(f"/externalscaler.ExternalScaler/{method}")(request, timeout=5)

    def wanted(self) -> int:
        """Executors that there should be: the metric over its target, and none when the scaler is not active."""
        active = wire.fields(self._call("IsActive", self.reference)).get(1, 0)
        spec = wire.fields(wire.fields(self._call("GetMetricSpec", self.reference))[1])
        answer = self._call("GetMetrics", wire.blob(1, self.reference) + wire.blob(2, METRIC))
        value = wire.fields(wire.fields(answer)[1])
        assert value[1] == spec[1] == METRIC.encode() and spec[2] == 1
        return value.get(2, 0) // spec[2] if active else 0


@dataclass
class Loop:
    """What starts and ends the executors of a pool."""

    pool: pool.Pool
    scaler: Scaler
    number: int = 0
    most: int = 0
    wanted_since: float | None = None
    surplus_since: float | None = None
    first_executor: list[float] = field(default_factory=list)
    leaving: dict[str, subprocess.Popen] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    last: tuple = ()

    def live(self) -> list[str]:
        """Names of the executors that were not told to end."""
        return [n for n in self.pool.processes if n != "scheduler"]

    def turn(self) -> None:
        """Follows the scaler once."""
        now = time.monotonic()
        wanted, health = self.scaler.wanted(), self.pool.health()
        live = self.live()
        for name in live:
            if (code := self.pool.processes[name].poll()) is not None:
                self.errors.append(f"{name} ended by itself with {code}")
                self.pool.processes.pop(name)
        for name, process in list(self.leaving.items()):
            if (code := process.poll()) is not None:
                self.leaving.pop(name)
                if code != 0:
                    self.errors.append(f"{name} ended with {code} after SIGTERM")
        if wanted and self.wanted_since is None and not live:
            self.wanted_since = now
        if health["executors"] and self.wanted_since is not None:
            self.first_executor.append((now - self.wanted_since) * 1000)
            self.wanted_since = None
        for _ in range(wanted - len(live)):
            self.number += 1
            self.pool.start_executor(f"executor-{self.number}")
        self.most = max(self.most, len(health["executors"]))
        self.surplus_since = (self.surplus_since or now) if wanted < len(live) else None
        if self.surplus_since is not None:
            self.shrink(live, len(live) - wanted, health, now)
        state = (wanted, len(self.live()), len(health["executors"]), len(self.leaving), health["tasks_running"])
        if state != self.last:
            self.last = state
            print("wanted {:>2}, processes {:>2}, registered {:>2}, leaving {:>2}, tasks running {:>3}".format(*state), flush=True)

    def shrink(self, live: list[str], surplus: int, health: dict, now: float) -> None:
        """Ends idle executors; one that works only when none is idle for long."""
        tasks = {e["flight"].split("//")[-1]: e["tasks_running"] for e in health["executors"]}
        busy = {name: tasks.get(self.pool.executor_flight[name], 0) for name in live}
        patient = now - self.surplus_since < PATIENCE_SECONDS
        for name in sorted(live, key=busy.get)[:surplus]:
            if busy[name] and patient:
                break
            process = self.pool.processes.pop(name)
            process.send_signal(signal.SIGTERM)
            self.leaving[name] = process
            self.pool.executor_flight.pop(name)


class Burst(threading.Thread):
    """Queries in some threads at a time."""

    def __init__(self, spark, names: list[str], want: dict, threads: int):
        super().__init__(daemon=True)
        self.spark, self.names, self.want, self.threads = spark, list(names), want, threads
        self.results: list[tpch.Result] = []

    def run(self) -> None:
        from pyspark import InheritableThread

        workers = [InheritableThread(target=self.work) for _ in range(self.threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def work(self) -> None:
        while True:
            try:
                name = self.names.pop(0)
            except IndexError:
                return
            self.results.append(tpch.check(self.spark, name, self.want[name]))


def summary(loop: Loop, wanted: int, zeros: list[float], bursts: int, right: int, runs: int) -> tuple[str, int]:
    """The last line, and the exit code."""
    problems = list(loop.errors)
    if loop.most != wanted:
        problems.append(f"{loop.most} of {wanted} executors at most")
    if right != runs:
        problems.append(f"{runs - right} queries wrong")
    if len(zeros) != bursts:
        problems.append("not every burst came back to zero")
    if len(loop.first_executor) < bursts:
        problems.append("not every burst began at zero")
    state = "ok" if not problems else "FAILED (" + "; ".join(problems) + ")"
    line = (f"scale 0->{loop.most}->0: {state}, first executor {max(loop.first_executor, default=0):.0f} ms, "
            f"back to zero {max(zeros, default=0):.1f} s, right {right}/{runs}")
    return line, 1 if problems else 0


def main() -> int:
    """Runs the demonstration."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executors", type=int, default=3, help="most executors")
    parser.add_argument("--bursts", type=int, default=2)
    parser.add_argument("--scale", default="0.1")
    parser.add_argument("--cool-down", default="5s", help="CNE_SCALE_COOL_DOWN of the scheduler")
    parser.add_argument("--queries", default=",".join(QUERIES))
    args = parser.parse_args()
    pool.interruptible()
    want, _ = golden.tpch_answers(args.scale)
    names = args.queries.split(",")
    env = {"CNE_SCALE_MAX_EXECUTORS": str(args.executors), "CNE_SCALE_COOL_DOWN": args.cool_down, "CNE_SCALE_PATIENCE": "100ms",
           "CNE_SCALE_SLOTS": "1"}
    right = runs = 0
    zeros: list[float] = []
    with pool.temporary(executors=0, slots=1, scheduler_env=env) as p:
        loop = Loop(p, Scaler(p.scaler))
        spark = session.classic(session.pool_conf(p.url))
        session.tpch_views(spark, args.scale)
        for number in range(1, args.bursts + 1):
            print(f"burst {number}: {len(names)} queries, {args.executors} at a time", flush=True)
            burst = Burst(spark, names, want, args.executors)
            burst.start()
            ended = None
            while True:
                loop.turn()
                if not burst.is_alive():
                    ended = ended or time.monotonic()
                    if not loop.live() and not loop.leaving:
                        zeros.append(time.monotonic() - ended)
                        break
                    if time.monotonic() - ended > STUCK_SECONDS:
                        loop.errors.append(f"not back to zero after {STUCK_SECONDS} s: {pool.action(p.flight, 'comet.demand')}")
                        break
                time.sleep(0.1)
            for r in burst.results:
                print(f"  {r.query:<4} {r.seconds:6.2f} s  {r.difference or 'right'}", flush=True)
            right += sum(r.difference is None for r in burst.results)
            runs += len(names)
        spark.stop()
    line, code = summary(loop, args.executors, zeros, args.bursts, right, runs)
    print(line, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
