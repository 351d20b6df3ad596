"""Queries on a pool of real processes with a real S3 server, and a fault in each.

    python -m cne_chaos 500 1 [--scale 0.01] [--kinds "kill fetch,s3 lost"] [--queries q1,shuffle] [--mode store]

The seed decides kinds, queries and points; what the machine's timing does with them differs from run to run. The last line is
`runs R, right A, fired F, wrong W, hung H, failed-typed T, tasks rerun after commit C`; see ../README.md.
"""
import argparse
import random
import re
import sys
import time
import traceback

from cne_e2e import paths, pool, s3, s3proxy
from cne_e2e.running import Running

from . import kinds, report
from .harness import DRAIN_SECONDS, MODES, Harness, answers
from .kinds import Injector, Run

# The default of CNE_EXECUTOR_TIMEOUT is 4 s; a heartbeat may have come just before.
LOST_SECONDS = 3
_CODE = re.compile(r"CNE-\d{4}")


def one(harness: Harness, seed: int, run: Run, rng: random.Random) -> None:
    """Runs a query with a fault, and makes the pool whole again."""
    undisturbed = harness.baseline(run.query)
    harness.started()
    since = len(harness.proxy.requests)
    query = harness.start(run.query)
    injector = Injector(harness.pool, harness.proxy, rng, run, undisturbed, query)
    limit = undisturbed.limit
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
        judge(run, query)
    finally:
        harness.proxy.disarm()
        for name in list(injector.paused):
            injector.resume(name)
        if injector.disk:
            injector.disk.end()
    if query.is_alive():
        harness.cancel(query)
    for name in injector.drained:
        code = harness.pool.ended(name, DRAIN_SECONDS)
        if code != 0 and run.outcome == "right":
            run.outcome = f"after SIGTERM {name} " + ("did not end" if code is None else f"ended with {code}")
    for name, seconds in injector.slept.items():
        if seconds > LOST_SECONDS:
            # It hears that it was taken for lost, and ends.
            harness.pool.ended(name, 5)
    harness.heal()
    run.reruns, _, text = harness.reruns(since, undisturbed)
    run.what += text
    if report.outcome(run) in ("wrong", "hung") or run.reruns:
        run.what += f"; logs in {harness.keep_logs(f'{seed}-{run.number}')}"


def judge(run: Run, query: Running) -> None:
    """What became of the query."""
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


def plan(runs: int, rng: random.Random, names: list[str], of: list[str], modes: list[str]) -> list[Run]:
    """Kinds dealt out in rounds, so that each has its share, with a query for each; rounds take turns in mode, and those of one are run
    together."""
    out: list[Run] = []
    while len(out) < runs:
        mode = modes[len(out) // len(names) % len(modes)]
        for kind in rng.sample(names, len(names)):
            # One has a result that takes a while to read, another one spills.
            query = "result" if kind.endswith("doget") else "shuffle" if kind == "disk full" else rng.choice(of)
            objects = kind in kinds.IN_OBJECTS_ONLY or mode == "store" and kind in kinds.DATA_ONLY
            where = "store+objects" if objects and "store+objects" in modes else mode
            out.append(Run(len(out) + 1, kind, query, where))
    return sorted(out[:runs], key=lambda r: modes.index(r.mode))


def main() -> int:
    """Runs the faults."""
    parser = argparse.ArgumentParser(prog="cne_chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--scale", default="0.01")
    parser.add_argument("--kinds", default=",".join(kinds.NAMES))
    parser.add_argument("--queries", help="which queries, by default TPC-H's and `shuffle`")
    parser.add_argument("--mode", default=",".join(MODES), help="how outputs are stored; rounds of all kinds take turns")
    args = parser.parse_args()
    pool.interruptible()
    rng = random.Random(args.seed)
    texts = answers(args.scale)[0]
    of = args.queries.split(",") if args.queries else [q for q in texts if q != "result"]
    chosen = args.kinds.split(",")
    modes = args.mode.split(",")
    if unknown := set(chosen) - set(kinds.NAMES) | set(of) - set(texts) | set(modes) - set(MODES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; kinds are {', '.join(kinds.NAMES)}, modes {', '.join(MODES)}")
    why_not = kinds.disks_can_be_full(paths.CACHE / "run")
    if why_not and "disk full" in chosen:
        print(f"no `disk full` here, a file system cannot be mounted: {why_not}", flush=True)
        chosen.remove("disk full")
    runs: list[Run] = []
    planned = plan(args.runs, rng, chosen, of, modes)
    try:
        with s3.Server() as server, s3proxy.Proxy(server.address) as proxy, Harness(args.scale, server, proxy, modes[0]) as harness:
            for run in planned:
                harness.configure(run.mode)
                one(harness, args.seed, run, random.Random(f"{args.seed}-{run.number}"))
                runs.append(run)
                print(f"{run.number:>3} {run.mode:<13} {run.query:<7} {run.kind:<18} {'fired' if run.fired else 'MISSED'} "
                      f"{run.outcome} after {run.seconds:.1f} s: {run.what}" + (f" | {run.error}" if run.error else ""), flush=True)
    except Exception as e:
        # A pool that cannot be made whole is the end, and what was seen until then counts.
        traceback.print_exc()
        print(f"the harness ends: {type(e).__name__}", flush=True)
    print(report.table(runs))
    line, code = report.summary(runs, args.runs)
    print(line, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
