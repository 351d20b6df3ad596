"""Every link of a pool under mutual TLS, with real processes: who is refused, how that is logged, and certificates that are exchanged under queries.

    python -m cne_e2e.tls [--scale 0.01]      # last line `tls: links L, refusals R of R, ...`
"""
import argparse
import functools
import sys
import threading
import time
from pathlib import Path

from . import golden, paths, pool, session, tls_refusals, tpch
from .certificates import Authority, Certificate
from .security import Security
from .tls_refusals import LOCAL, reached, shown

# One with a shuffle, one without, one with many joins.
QUERIES = ("q1", "q6", "q12", "q5")


def security(folder: Path) -> Security:
    """Two tenants: one may read the tables, the other one nothing that is there."""
    return Security(folder, {"acme": [paths.CACHE.as_uri()], "other": ["s3://other/data/"]})


class Load(threading.Thread):
    """A driver that runs queries one after the other until it is told to stop."""

    def __init__(self, spark, scale: str):
        super().__init__(daemon=True)
        self.spark, self.want = spark, golden.tpch_answers(scale)[0]
        self.results: list[tpch.Result] = []
        self.enough = threading.Event()

    def run(self) -> None:
        while not self.enough.is_set():
            name = QUERIES[len(self.results) % len(QUERIES)]
            self.results.append(tpch.check(self.spark, name, self.want[name]))

    def some(self, count: int = 2, seconds: float = 120) -> None:
        """Waits until so many more queries have ended."""
        end, target = time.monotonic() + seconds, len(self.results) + count
        while len(self.results) < target:
            if not self.is_alive() or time.monotonic() > end:
                raise RuntimeError(f"the driver stands still after {len(self.results)} queries")
            time.sleep(0.05)


def ports(p: pool.Pool) -> dict[str, str]:
    """Address and role of every port that is TLS with a certificate of the pool."""
    out = {p.flight: "scheduler", p.internal: "scheduler", p.scaler: "scheduler"}
    return out | {a: "executor" for a in [*p.executor_flight.values(), *p.executor_grpc.values()]}


def eventually(what: str, check, seconds: float = 20) -> None:
    """Waits until `check()` is true."""
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            raise RuntimeError(f"after {seconds} s still not: {what}")
        time.sleep(0.1)


def exchange(p: pool.Pool, load: Load) -> int:
    """Exchanges certificates of all processes while queries run; the number of exchanges."""
    s = p.security

    def leaves() -> None:
        serials = {role: s.issue(role).serial() for role in ("scheduler", "executor")}
        member = s.members["scheduler"]
        eventually("the new certificates are shown", lambda: all(shown(a, s.ca, member) == serials[role] for a, role in ports(p).items()))
        load.some()

    leaves()
    # Another authority: first both are trusted, then certificates are the new one's, then it alone is.
    old, old_member = s.pool, s.pool.issue(s.folder / "old-member", "DNS:old")
    new = Authority(s.folder / "pool-ca-2", "comet pool 2")
    new_member = new.issue(s.folder / "new-member", "DNS:new")
    s.trust(old, new)

    def taken(member: Certificate) -> list[bool]:
        return [reached(a, LOCAL, s.ca, member) for a in (p.internal, *p.executor_grpc.values())]

    eventually("the new authority is trusted", lambda: all(taken(new_member)))
    s.pool = new
    leaves()
    s.trust(new)
    eventually("the old authority is not trusted any more", lambda: not any(taken(old_member)))
    load.some()
    return 3


def broken(p: pool.Pool, load: Load) -> None:
    """A file that is no certificate changes nothing, and is logged once by each process."""
    s = p.security
    cert = s.members["executor"].cert
    good = cert.read_bytes()
    cert.write_text("broken")
    executors = list(p.executor_flight)
    said = functools.partial(tls_refusals.lines, p, text="changed files cannot be used")
    eventually("the broken file is logged", lambda: all(said(name) for name in executors))
    load.some()
    time.sleep(3)
    counts = {name: len(said(name)) for name in executors}
    if set(counts.values()) != {1}:
        raise RuntimeError(f"a broken file was logged {counts} times")
    cert.write_bytes(good)


def killed(p: pool.Pool, load: Load) -> None:
    """An executor that is killed is noticed by the connection to it, long before its heartbeats would tell, and the driver goes on."""
    p.kill("executor-2")
    eventually("the killed executor is noticed", lambda: len(p.health()["executors"]) == 1, 10)
    load.some()


def nothing_was_lost(p: pool.Pool, before: set[str]) -> None:
    """Fails when an executor was taken for lost, a process has ended, or a token is in a log."""
    after = {e["id"] for e in p.health()["executors"]}
    lost = [line for line in pool.get(p.http, "/metrics")[1].splitlines() if line.startswith("comet_executors_lost_total")]
    if after != before or lost != ["comet_executors_lost_total 0"] or any(process.poll() is not None for process in p.processes.values()):
        raise RuntimeError(f"executors {before} have become {after}; {lost}")
    for log in p.state.glob("*.log"):
        text = log.read_text(errors="replace")
        if any(token in text for token in p.security.tokens.values()):
            raise RuntimeError(f"{log} has a token in it")


def run(scale: str) -> tuple[str, bool]:
    """Everything; the verdict, and whether it is good."""
    with pool.temporary(security=security, scheduler_env={"CNE_EXECUTOR_TIMEOUT": "60s"}) as p:
        refusals = tls_refusals.run(p)
        executors = {e["id"] for e in p.health()["executors"]}
        spark = session.classic(session.pool_conf(p.url) | p.conf)
        session.tpch_views(spark, scale)
        load = Load(spark, scale)
        load.start()
        try:
            load.some(1, 300)
            exchanges = exchange(p, load)
            broken(p, load)
            nothing_was_lost(p, executors)
            killed(p, load)
        finally:
            load.enough.set()
            load.join(120)
        wrong = [f"{r.name}: {r.difference}" for r in load.results if r.difference is not None]
        spark.stop()
    for line in wrong:
        print(line)
    links, refused, of = refusals
    verdict = f"tls: links {links}, refusals {refused} of {of}, exchanges of certificates {exchanges}, queries {len(load.results) - len(wrong)} of {len(load.results)} equal"
    return verdict, not wrong and refused == of


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="0.01")
    args = parser.parse_args()
    pool.interruptible()
    try:
        verdict, good = run(args.scale)
    except RuntimeError as error:
        verdict, good = f"tls: failed, {error}", False
    print(verdict, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
