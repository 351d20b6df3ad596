"""Credentials that end, are revoked or cannot be replaced, in the middle of queries. The server's sessions are short here."""
import time

from .. import s3proxy
from . import sts
from .identities import Outcome, Watch
from .oidc import Rotation
from .stage import Site, Stage, until
from .table import Table


def _slow(site: Site, seconds: float) -> None:
    reads = s3proxy.Fault("slow", lambda r: r.verb == "GET" and r.path.startswith(f"{sts.TABLES}/"), times=10**9, seconds=seconds)
    site.s3.arm(reads)


def rotation(stage: Stage, site: Site, table: Table) -> Outcome:
    """A scan that is longer than two sessions, while the token file is exchanged for tokens that are valid for half a session."""
    name, out, session = stage.name("rotation"), Outcome(), site.server.seconds
    file = stage.folder / f"{name}.token"
    files = len(list(table.folder.iterdir()))
    # A footer and a column chunk of each file, one after the other.
    _slow(site, 2.2 * session / (2 * files))
    try:
        with Rotation(stage.issuer, file, every=session / 4, valid=session / 2) as tokens, Watch(stage, site) as seen, \
                stage.executors({name: site.environment(name, file)}):
            begun = time.monotonic()
            out.equal("rows", table.run(stage.spark), table.want)
            took = time.monotonic() - begun
    finally:
        site.s3.disarm()
    keys = site.sts.keys(name)
    out.check(took > 2 * session, f"the scan took {took:.1f} s only")
    out.check(3 <= len(set(keys)) <= 2 + took / (0.6 * session), f"{len(keys)} credentials within {took:.1f} s")
    out.check(seen.keys >= set(keys[:3]) and seen.keys <= set(keys), f"signers {seen.keys}, issued {keys}")
    out.equal("refusals of the store", [r.status for r in seen.requests if r.status in (400, 401, 403)], [])
    out.equal("calls that failed", [c.code for c in seen.calls if c.status != 200], [])
    out.check(tokens.made > 4, f"{tokens.made} tokens")
    out.equal("requests to the metadata service", seen.asked, [])
    return out


def revoked(stage: Stage, site: Site, table: Table) -> Outcome:
    """The store does not accept a credential any more that has not ended: once while tables are read, once while outputs are written."""
    name, out = stage.name("revoked"), Outcome()
    with stage.executors({name: site.environment(name, stage.token(name))}):
        for how, verb, bucket in (("revoked", "GET", sts.TABLES), ("expired", "PUT", sts.SHUFFLE), ("revoked", "HEAD", sts.TABLES)):
            # A credential that has just been issued is not replaced for a refusal.
            time.sleep(6)
            until("a fresh credential", 30, lambda: _age(site, name) > 5.5)
            revoked = set(site.sts.keys(name)[-1:])
            fault = site.s3.arm(s3proxy.Fault(how, lambda r, k=revoked, v=verb, b=bucket: r.verb == v and r.key in k and r.path.startswith(f"{b}/"),
                                              times=1))
            # A HEAD has no reason: who asks for it is told by the next request.
            told = s3proxy.Fault(how, lambda r, k=revoked: r.verb == "GET" and r.key in k and bool(fault.fired), times=1)
            if verb == "HEAD":
                site.s3.arm(told)
            before = stage.metric(name, "comet_identity_renewals_total")
            out.equal(f"rows ({how}, {verb})", table.run(stage.spark), table.want)
            site.s3.disarm()
            out.check(bool(fault.fired), f"no {verb} was {how}")
            out.equal(f"renewals ({how}, {verb})", stage.metric(name, "comet_identity_renewals_total") - before, 1)
    return out


def _age(site: Site, name: str) -> float:
    issued = [c.ended for c in site.sts.calls if c.session == name and c.key]
    return time.time() - issued[-1] if issued else 0


def _rows(stage: Stage, table: Table):
    """The query's rows, or its error."""
    try:
        return table.run(stage.spark)
    except Exception as e:  # the client's errors have no common class
        return str(e).splitlines()[:2]


def outage(stage: Stage, site: Site, table: Table) -> Outcome:
    """The token service is away: what is valid is used until its end, then tasks fail for the moment, and go on when it is back."""
    name, out = stage.name("outage"), Outcome()
    environment = site.environment(name, stage.token(name)) | {"CNE_STORE_RETRY_TIMEOUT": "2s"}
    with Watch(stage, site) as seen, stage.executors({name: environment}):
        until("a credential", 10, lambda: site.sts.keys(name))
        site.sts.refuse = lambda call: "ServiceUnavailable" if call.session == name else None
        try:
            issued = time.time() - _age(site, name)
            # The first query of a driver takes longer than those that follow.
            out.equal("rows at the beginning", _rows(stage, table), table.want)
            # Up to the time of the refresh, which may be as late as 85 % of the lifetime, and a little beyond it.
            time.sleep(max(0, issued + 0.6 * site.server.seconds - time.time()))
            begun = time.time()
            out.equal("rows before the refresh", _rows(stage, table), table.want)
            took, served = time.time() - begun, False
            # Never a query that may end after the credential.
            while not served and time.time() + 2 * took < issued + 0.93 * site.server.seconds:
                begun = time.time()
                out.equal("rows with the old credential", _rows(stage, table), table.want)
                took = time.time() - begun
                served = any(c.code == "ServiceUnavailable" and c.ended < begun for c in site.sts.calls if c.session == name)
            out.check(served, "no query after a refresh had failed")
            time.sleep(max(0, issued + site.server.seconds + 1 - time.time()))
            text = stage.failure(table)
            for part in ("CNE-2016", "cannot be had for the moment", "ServiceUnavailable"):
                out.check(part in text, f"{part!r} is missing in {text or 'rows'!r}")
        finally:
            site.sts.refuse = lambda call: None
        # The pause between two calls may still last for 3 seconds, longer than this executor's tasks wait.
        time.sleep(4)
        out.equal("rows when it is back", _rows(stage, table), table.want)
    out.check(any(c.code == "ServiceUnavailable" for c in seen.calls), "the service was never away")
    out.check(max(c.outstanding for c in seen.calls) == 1, "calls at the same time")
    out.equal("requests to the metadata service", seen.asked, [])
    return out


CASES = {"expiry and rotation in a long scan": rotation, "revoked in a query": revoked}
# The time between the latest refresh and the end is a tenth of a session: enough for a query or two.
LONGER = {"token service away after a while": outage}

