"""What the recipes with one kind of fault share: their arguments, and how they repeat it."""
import argparse
import random
import time
from collections.abc import Callable

from cne_e2e import pool, s3, s3proxy

from .harness import MODES, Harness


def main(prog: str, doc: str, one: Callable, summary: Callable) -> int:
    """Repeats a fault in the middle of TPC-H queries; prints a line for each run and the summary. `one(harness, rng, query, number)` gives a run, with
    `hit` (it was in the middle), `outcome` and `reruns`, and what happened in words. A query that was over before its moment came is no run; another
    one takes its place. The exit code is that of `summary(runs, wanted)`."""
    parser = argparse.ArgumentParser(prog=f"cne_chaos.{prog}", description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=int)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--mode", choices=MODES, default="store", help="how outputs are stored")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    pool.interruptible()
    print(f"seed {args.seed}", flush=True)
    rng, runs, missed = random.Random(args.seed), [], 0
    with s3.Server() as server, s3proxy.Proxy(server.address) as proxy, Harness(args.scale, server, proxy, args.mode, ("tpch",)) as harness:
        while len(runs) < args.runs:
            name = rng.choice(list(harness.texts))
            run, text = one(harness, rng, name, len(runs))
            again = not run.hit and run.outcome == "right" and not run.reruns and missed < args.runs
            if again:
                missed += 1
            else:
                runs.append(run)
            if run.outcome != "right" or run.reruns:
                text += f"; logs in {harness.keep_logs(f'{prog}-{args.seed}-{len(runs)}')}"
            print(f"{'' if again else len(runs):>3} {name:<4} {text}", flush=True)
    print(f"in the middle {sum(r.hit for r in runs)}; missed and taken again: {missed}")
    line, code = summary(runs, args.runs)
    print(line, flush=True)
    return code
