"""Many executors that start together, and a token service that throttles most of their calls."""
import time
from collections import defaultdict

from . import sts
from .identities import Outcome, Watch
from .stage import Site, Stage, until
from .table import Table

# What refresh.rs says: the longest pause between two calls of one process, and what the call and a busy machine may add.
LONGEST_PAUSE, SLACK = 3.0, 2.0


def throttled(stage: Stage, site: Site, table: Table, executors: int, part: float, seconds: float) -> tuple[Outcome, str]:
    """All of them end with a credential of their own, and a query that all of them have to work for is right."""
    out = Outcome()
    names = [stage.name("many") for _ in range(executors)]
    site.sts.refuse, site.sts.seconds = sts.throttle(part, seed=executors), 0.05
    begun = time.monotonic()
    try:
        with Watch(stage, site) as seen, stage.executors({n: site.environment(n, stage.token(n)) for n in names}):
            until("credentials of all executors", seconds, lambda: all(site.sts.keys(n) for n in names))
            took = time.monotonic() - begun
            out.equal("rows", table.run(stage.spark), table.want)
    finally:
        site.sts.refuse, site.sts.seconds = (lambda call: None), 0
    calls = defaultdict(list)
    for call in seen.calls:
        calls[call.session].append(call)
    for name in names:
        out.equal(f"successful calls of {name}", sum(c.status == 200 for c in calls[name]), 1)
        out.equal(f"{name} signed with", {r.key for r in seen.requests if r.client == name} - set(site.sts.keys(name)), set())
    out.equal("most calls of one process at one time", max(c.outstanding for c in seen.calls), 1)
    out.equal("requests to the metadata service", seen.asked, [])
    working = len({r.client for r in seen.requests if r.status < 300})
    out.check(working >= min(executors, 2), f"{working} executors worked")
    pauses = {name: [b.begun - a.ended for a, b in zip(of, of[1:])] for name, of in calls.items()}
    every = [p for of in pauses.values() for p in of]
    longest = max(every, default=0)
    out.check(longest <= LONGEST_PAUSE + SLACK, f"a pause of {longest:.1f} s")
    late = [p for of in pauses.values() for p in of[5:]]
    early = [p for of in pauses.values() for p in of[:2]]
    # They grow, and no two processes keep step.
    out.check(not late or sum(late) / len(late) > 2 * sum(early) / len(early), "pauses do not grow")
    out.check(len({round(p, 3) for p in every}) > len(every) / 2, "pauses are not random")
    total, refused = len(seen.calls), sum(c.status != 200 for c in seen.calls)
    text = (f"{executors} executors, {total} calls, {refused} of them throttled ({100 * refused / total:.0f} %), most of one process "
            f"{max(map(len, calls.values()))}, longest pause {longest:.1f} s, all had credentials after {took:.0f} s, {working} worked for the query")
    return out, text
