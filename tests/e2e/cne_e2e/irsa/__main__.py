"""Identity, end to end: real Spark, real processes, a real S3 server and security token service, tokens made and rotated here.

    python -m cne_e2e.irsa [--quick] [--only TEXT] [--executors 50] [--throttle 0.9] [--log-level trace]

The last line is `irsa: cases N, right N, ...`; the exit code is 0 only when all are right.
"""
import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from .. import paths, pool, s3
from . import canary, identities, life, many
from .metadata import Temptation
from .oidc import Issuer
from .stage import Stage, scheduler, site
from .sts import SHUFFLE
from .table import Table, driver, view

# Of quick runs: those that have no wait in them.
SLOW = {"token service away", "revoked in a query", "token service away after a while"}


class Report:
    """What the cases have found."""

    def __init__(self, only: str):
        self.only, self.cases, self.wrong = only, 0, []

    def wants(self, name: str) -> bool:
        """Whether the case was asked for."""
        return self.only in name

    def run(self, name: str, work) -> None:
        """Runs one case and prints its line; `work` gives what is wrong."""
        begun = time.monotonic()
        try:
            wrong = work()
        except Exception as e:  # whatever a case ends with, the next one is run
            wrong = [f"{type(e).__name__}: {e}"]
        self.cases += 1
        self.wrong += [f"{name}: {w}" for w in wrong]
        print(f"{name:<38} {time.monotonic() - begun:>6.1f} s  {'; '.join(wrong) or 'right'}", flush=True)

    def right(self) -> int:
        """How many cases are."""
        return self.cases - len({w.split(':')[0] for w in self.wrong})


def play(folder: Path, args, report: Report) -> str:
    """Runs all cases; gives what is to be said of the many executors."""
    said, captures = "", folder / "captures"
    captures.mkdir()
    # Enough of them that a slowed read of the long scan is held for less time than a credential has left when it is replaced.
    table = Table(folder, files=16)
    with Issuer(folder) as issuer, Temptation(folder) as temptation, scheduler(storage_url=f"s3://{SHUFFLE}/pool",
                                                                            scheduler_env={"CNE_LOG_LEVEL": "debug"}) as p:
        def environment(name: str) -> dict:
            return stage.environments[name]

        p.executor_env = environment
        spark = driver(p.url, folder, captures)
        stage = Stage(folder, p, issuer, temptation, spark, log_level=args.log_level)
        view(spark, table)
        secrets = set()
        try:
            with site(folder / "long", issuer, 3600) as place:
                table.upload(place.server.client())
                for name, case in identities.CASES.items():
                    if report.wants(name) and not (args.quick and name in SLOW):
                        report.run(name, lambda c=case: c(stage, place, table).wrong)
                if report.wants("many executors"):
                    def throttled() -> list[str]:
                        nonlocal said
                        out, said = many.throttled(stage, place, table, args.executors, args.throttle, seconds=600)
                        return out.wrong
                    report.run("many executors, throttled", throttled)
                secrets |= place.sts.secrets
            for seconds, cases in ((10 if args.quick else 25, life.CASES), (60, life.LONGER)):
                wanted = {n: c for n, c in cases.items() if report.wants(n) and not (args.quick and n in SLOW)}
                if not wanted:
                    continue
                with site(folder / f"sessions-{seconds}", issuer, seconds) as place:
                    table.upload(place.server.client())
                    for name, case in wanted.items():
                        report.run(name, lambda c=case: c(stage, place, table).wrong)
                    secrets |= place.sts.secrets
        finally:
            spark.stop()
        secrets |= issuer.secrets | {s3.SECRET, p.ticket_key.split(":")[1]}
        report.run("canary", lambda: leaks(stage, captures, secrets))
    return said


def leaks(stage: Stage, captures: Path, secrets: set[str]) -> list[str]:
    """The search, and that it finds what is there."""
    files = [f for f in [*stage.pool.state.glob("*.log"), *captures.iterdir()] if f.is_file()]
    proof = stage.folder / "found"
    proof.write_text(f"before {max(secrets, key=len)} after")
    wrong = [] if canary.search([proof], [], secrets) else ["the search finds nothing at all"]
    if len(files) < 3 or not stage.texts or not any(captures.iterdir()):
        wrong.append(f"only {len(files)} files and {len(stage.texts)} texts to look into")
    print(f"  {len(secrets)} secrets looked for in {len(files)} files of {sum(f.stat().st_size for f in files) >> 10} KiB and {len(stage.texts)} texts",
          file=sys.stderr, flush=True)
    return wrong + [f"a secret in {where}" for where in canary.search(files, stage.texts, secrets)]


def main() -> int:
    """Runs the cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="without the cases that wait, with shorter sessions and fewer executors")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--executors", type=int)
    parser.add_argument("--throttle", type=float)
    parser.add_argument("--log-level", default="debug", help="of the executors")
    args = parser.parse_args()
    args.executors = args.executors or (6 if args.quick else 50)
    args.throttle = args.throttle if args.throttle is not None else (0.75 if args.quick else 0.9)
    pool.interruptible()
    report, begun = Report(args.only), time.monotonic()
    (paths.CACHE / "run").mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="irsa-", dir=paths.CACHE / "run"))
    try:
        said = play(folder, args, report)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    line = f"irsa: cases {report.cases}, right {report.right()}, {said + ', ' if said else ''}{time.monotonic() - begun:.0f} s"
    print(line, flush=True)
    return 0 if report.cases and not report.wrong else 1


if __name__ == "__main__":
    sys.exit(main())
