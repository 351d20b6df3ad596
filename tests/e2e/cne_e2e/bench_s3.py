"""TPC-H on an S3 server under each durability, in interleaved rounds; writes its section of docs/performance.md.

    python -m cne_e2e.bench_s3 [--scale 1] [--rounds 5] [--no-write]

One pool (two executors with one slot each) and one Spark session; for each part of a round scheduler and executors are started anew with the setting and one
query warms them up. What is put is counted in a pass of its own through a proxy, which is not timed.
"""
import argparse
import datetime
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from . import golden, pages, paths, pool, s3, s3proxy, session, tpch

TITLE = "## TPC-H on S3"
SETTING = "CNE_DURABILITY"
# The first one is what the others are compared with; None is the default.
DURABILITIES = ("local", "write-behind", "store")
# Times that of `local`: at most so much for the default, and for `store`.
DEFAULT_TARGET, STORE_TARGET = 1.15, 1.4


class Bench:
    """The pool and the session."""

    def __init__(self, scale: str, server: s3.Server, proxy: s3proxy.Proxy):
        self.server, self.proxy, self.want, self.counted = server, proxy, golden.tpch_answers(scale)[0], False
        self.pool = pool.temporary(slots=1, storage_url=f"s3://{s3.BUCKET}/pool", executor_env=self._environment)
        self.pool.start()
        self.spark = session.classic(session.pool_conf(self.pool.url) | session.BENCH_MEMORY)
        session.tpch_views(self.spark, scale)

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_) -> None:
        self.spark.stop()
        self.pool.stop()

    def _environment(self, name: str) -> dict:
        return self.server.environment(self.proxy.address(name) if self.counted else None, unsigned=True)

    def part(self, durability: str, counted: bool = False) -> tuple[float, float]:
        """Seconds of the 22 queries under a durability, and processor seconds of the S3 server meanwhile; a wrong answer is an error."""
        self.counted = counted
        self.pool.scheduler_env[SETTING] = durability
        executors = sorted(n for n in self.pool.processes if n != "scheduler")
        for name in [*executors, "scheduler"]:
            self.pool.kill(name)
        self.pool.start_scheduler()
        for name in executors:
            self.pool.start_executor(name)
        self.pool.wait_healthy()
        tpch.check(self.spark, "q3", self.want["q3"])
        total, before = 0.0, self._server_seconds()
        for name, want in self.want.items():
            r = tpch.check(self.spark, name, want)
            if r.difference:
                raise SystemExit(f"{durability}, {name}: {r.difference}")
            total += r.seconds
        return total, self._server_seconds() - before

    def _server_seconds(self) -> float:
        fields = Path(f"/proc/{self.server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        # User and system time, in ticks.
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def default_durability() -> str:
    """What the scheduler does when it is not told."""
    out = subprocess.run([paths.binary("comet-scheduler"), "--help"], capture_output=True, text=True, check=True).stdout
    return re.search(r"--durability .*\[default: (\S+)\]", out).group(1)


def report(seconds: dict[str, list[float]], server: dict[str, list[float]], put: dict[str, tuple], scale: str, default: str) -> str:
    """The section: medians, ratios of the pairs, what was put, whether the targets are met."""
    base = DURABILITIES[0]
    rounds = len(seconds[base])
    lines = [TITLE, "",
             f"TPC-H, scale factor {scale}, on one machine with {os.cpu_count()} cores, {datetime.date.today().isoformat()}, made by `just bench-s3`: versitygw on loopback "
             f"and the same disk, payloads not signed, two executors with one slot each, {rounds} rounds of all 22 queries under each durability, one after the other. The ratio is the "
             "median of the rounds' ratios. Requests and bytes are counted in a round of their own, through a proxy.", "",
             f"| durability | seconds, median | ratio to `{base}` | lowest to highest | processor seconds of the S3 server, median | bytes put | PUTs and POSTs | GETs |",
             "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for name, values in seconds.items():
        ratios = [v / b for v, b in zip(values, seconds[base])]
        bytes_put, puts, gets = put[name]
        lines.append(f"| {name} | {statistics.median(values):.2f} | {statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} | "
                     f"{statistics.median(server[name]):.2f} | "
                     f"{bytes_put / 1e6:.1f} MB | {puts} | {gets} |")
    lines.append("")
    for what, name, target in (("the default", default, DEFAULT_TARGET), ("`store`", "store", STORE_TARGET)):
        ratio = statistics.median(v / b for v, b in zip(seconds[name], seconds[base]))
        lines.append(f"Target for {what}, {f'which is `{name}`, ' if what != f'`{name}`' else ''}at most {target} times the time of `{base}`. Measured: {ratio:.2f}, "
                     f"{'met' if ratio <= target else '**missed**'}.")
    taken = statistics.median(server[default]) / (os.cpu_count() or 1) / statistics.median(seconds[base])
    lines += ["", f"The S3 server runs on the same cores: its processor time alone is {taken:.2f} of the time of `{base}` on all of them. Elsewhere it runs on machines of its own."]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Runs the rounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-write", action="store_true")
    args = parser.parse_args()
    pool.interruptible()
    seconds: dict[str, list[float]] = {d: [] for d in DURABILITIES}
    busy: dict[str, list[float]] = {d: [] for d in DURABILITIES}
    put = {}
    with s3.Server() as server, s3proxy.Proxy(server.address) as proxy, Bench(args.scale, server, proxy) as bench:
        # The driver's JVM gets faster for a while.
        for name in DURABILITIES:
            bench.part(name)
        for number in range(args.rounds):
            # Each one is first, second and last in turn.
            first = number % len(DURABILITIES)
            order = DURABILITIES[first:] + DURABILITIES[:first]
            for name in order:
                took, used = bench.part(name)
                seconds[name].append(took)
                busy[name].append(used)
                print(f"round {number + 1}: {name:<12} {seconds[name][-1]:.2f} s", file=sys.stderr, flush=True)
        for name in DURABILITIES:
            since = len(proxy.requests)
            bench.part(name, counted=True)
            # What is written behind the last query.
            time.sleep(5)
            requests = proxy.requests[since:]
            writes = [r for r in requests if r.verb in ("PUT", "POST") and r.kind != "DELETE"]
            put[name] = (sum(r.sent for r in writes), len(writes), sum(r.verb == "GET" and r.kind != "LIST" for r in requests))
    text = report(seconds, busy, put, args.scale, default_durability())
    print(text)
    if not args.no_write:
        pages.write_section(paths.ROOT / "docs" / "performance.md", TITLE, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
