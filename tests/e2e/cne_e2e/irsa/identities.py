"""The kinds of identity and what can be wrong with them, one executor each: right rows, or an error that names what happened, and nothing else tried."""
import http.server
import subprocess
import threading
from dataclasses import dataclass, field

from .. import paths, s3, s3proxy
from . import sts
from .stage import Site, Stage, until
from .table import Table


@dataclass
class Outcome:
    """What a case has found wrong; nothing is right."""

    wrong: list[str] = field(default_factory=list)

    def check(self, right: bool, what: str) -> None:
        """Notes what does not hold."""
        if not right:
            self.wrong.append(what)

    def equal(self, what: str, got, want) -> None:
        """Notes a difference."""
        self.check(got == want, f"{what}: {got!r} instead of {want!r}")


class Watch:
    """What happened at the services within a block."""

    def __init__(self, stage: Stage, site: Site):
        self.stage, self.site = stage, site

    def __enter__(self) -> "Watch":
        self.s3, self.sts, self.metadata = len(self.site.s3.requests), len(self.site.sts.calls), len(self.stage.temptation.requests)
        return self

    def __exit__(self, *_) -> None:
        self.requests: list[s3proxy.Request] = self.site.s3.requests[self.s3:]
        self.calls: list[sts.Call] = self.site.sts.calls[self.sts:]
        self.asked: list[str] = self.stage.temptation.requests[self.metadata:]
        self.keys = {r.key for r in self.requests}


def right(stage: Stage, site: Site, table: Table, name: str, environment: dict) -> tuple[Outcome, Watch]:
    """The query has its rows."""
    out = Outcome()
    with Watch(stage, site) as seen, stage.executors({name: environment}):
        out.equal("rows", table.run(stage.spark), table.want)
    out.check(bool(seen.requests), "no request to S3")
    return out, seen


def refused(stage: Stage, site: Site, table: Table, name: str, environment: dict, code: str, *named: str) -> tuple[Outcome, Watch]:
    """The query fails with the code, and its text names the reasons."""
    out = Outcome()
    with Watch(stage, site) as seen, stage.executors({name: environment}):
        text = stage.failure(table)
    for part in (code, *named):
        out.check(part in text, f"{part!r} is missing in {text or 'rows'!r}")
    # Web identity, and nothing else: not the machine's role, not the profile, not without a signature.
    out.equal("requests to the metadata service", seen.asked, [])
    out.check(seen.keys <= set(site.sts.keys(name)), f"requests signed by {seen.keys}, issued {site.sts.keys(name)}")
    return out, seen


def valid(stage: Stage, site: Site, table: Table) -> Outcome:
    """A valid token."""
    name = stage.name("valid")
    out, seen = right(stage, site, table, name, site.environment(name, stage.token(name)))
    out.equal("requests to the metadata service", seen.asked, [])
    out.equal("calls", [(c.session, c.action, c.status) for c in seen.calls], [(name, "AssumeRoleWithWebIdentity", 200)])
    out.equal("signers", seen.keys, set(site.sts.keys(name)))
    return out


def no_token(stage: Stage, site: Site, table: Table) -> Outcome:
    """A token file that is not there."""
    name = stage.name("no-token")
    file = stage.folder / "no-such-token"
    out, seen = refused(stage, site, table, name, site.environment(name, file), "CNE-2017", str(file), "No such file")
    out.equal("calls", seen.calls, [])
    return out


def expired(stage: Stage, site: Site, table: Table) -> Outcome:
    """A token that has ended: a later one would do, so the error is retryable."""
    name = stage.name("expired")
    environment = site.environment(name, stage.token(name, seconds=-30))
    out, seen = refused(stage, site, table, name, environment, "CNE-2016", "ExpiredToken")
    out.check(bool(seen.calls), "STS was not asked")
    return out


def wrong_audience(stage: Stage, site: Site, table: Table) -> Outcome:
    """A token for somebody else."""
    name = stage.name("audience")
    environment = site.environment(name, stage.token(name, audience="https://kubernetes.default.svc"))
    out, _ = refused(stage, site, table, name, environment, "CNE-2017", "refused with")
    return out


def wrong_role(stage: Stage, site: Site, table: Table) -> Outcome:
    """A role that trusts another service account."""
    name = stage.name("trust")
    environment = site.environment(name, stage.token(name), role=sts.FOREIGN)
    out, _ = refused(stage, site, table, name, environment, "CNE-2017", "AccessDenied", sts.FOREIGN)
    return out


def no_role(stage: Stage, site: Site, table: Table) -> Outcome:
    """A role that is not there."""
    name = stage.name("no-role")
    role = sts.arn("nobody")
    out, _ = refused(stage, site, table, name, site.environment(name, stage.token(name), role=role), "CNE-2017", role)
    return out


def no_permission(stage: Stage, site: Site, table: Table) -> Outcome:
    """A role that may not read the table."""
    name = stage.name("permission")
    environment = site.environment(name, stage.token(name), role=sts.ELSEWHERE)
    out, seen = refused(stage, site, table, name, environment, "CNE-2011", "AccessDenied")
    out.check(len(site.sts.keys(name)) == 1 and bool(seen.requests), "nothing was asked under the role")
    return out


def service_away(stage: Stage, site: Site, table: Table) -> Outcome:
    """No token service."""
    name = stage.name("away")
    environment = site.environment(name, stage.token(name)) | {"AWS_ENDPOINT_URL_STS": "https://127.0.0.1:1", "CNE_STORE_RETRY_TIMEOUT": "1s"}
    out, _ = refused(stage, site, table, name, environment, "CNE-2016", "cannot be had for the moment")
    return out


def static_keys(stage: Stage, site: Site, table: Table) -> Outcome:
    """Keys of the environment; where the buckets are is in the file."""
    name = stage.name("static")
    file = stage.folder / "buckets.toml"
    endpoint = site.reach(name)["AWS_ENDPOINT_URL_S3"]
    file.write_text(f'[default]\nendpoint = "{endpoint}"\nallow_http = true\nregion = "us-east-1"\npath_style = true\n')
    environment = {"CNE_BUCKETS_FILE": str(file), "AWS_ACCESS_KEY_ID": s3.ACCESS, "AWS_SECRET_ACCESS_KEY": s3.SECRET}
    out, seen = right(stage, site, table, name, environment)
    out.equal("signers", (seen.keys, seen.asked), ({s3.ACCESS}, []))
    return out


def profile(stage: Stage, site: Site, table: Table) -> Outcome:
    """A profile that is named."""
    name = stage.name("profile")
    out, seen = right(stage, site, table, name, site.reach(name) | {"AWS_PROFILE": "default"})
    out.equal("signers", (seen.keys, seen.asked), ({s3.ACCESS}, []))
    return out


def machine(stage: Stage, site: Site, table: Table) -> Outcome:
    """The machine's role, where nothing is configured. It also shows that the metadata service would have answered the others."""
    name = stage.name("machine")
    out, seen = right(stage, site, table, name, site.reach(name) | stage.temptation.environment(profile=False))
    out.equal("signers", seen.keys, {s3.ACCESS})
    out.check(any("security-credentials" in path for path in seen.asked), f"asked: {seen.asked}")
    return out


class Agent:
    """Pod Identity's endpoint: gives keys to who has the token, or refuses."""

    def __init__(self, token: str, refuses: bool = False):
        self.requests = []
        body = (f'{{"AccessKeyId":"{s3.ACCESS}","SecretAccessKey":"{s3.SECRET}","Token":"","Expiration":"2099-01-01T00:00:00Z"}}').encode()
        agent = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                known = self.headers.get("authorization") == token and not refuses
                agent.requests.append(known)
                self.send_response(200 if known else 403)
                self.send_header("content-length", str(len(body) if known else 0))
                self.end_headers()
                self.wfile.write(body if known else b"")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> "Agent":
        threading.Thread(target=self.server.serve_forever, daemon=True, name="agent").start()
        return self

    def __exit__(self, *_) -> None:
        self.server.shutdown()
        self.server.server_close()

    def environment(self, file) -> dict[str, str]:
        """Of a pod with Pod Identity."""
        return {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://127.0.0.1:{self.server.server_port}/v1/credentials",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(file)}


def pod_identity(stage: Stage, site: Site, table: Table) -> Outcome:
    """Pod Identity's endpoint gives keys; when it refuses, nobody else is asked."""
    name = stage.name("pod")
    file = stage.token(name)
    with Agent(file.read_text()) as agent:
        out, seen = right(stage, site, table, name, site.reach(name) | agent.environment(file))
    out.equal("signers", (seen.keys, seen.asked, agent.requests), ({s3.ACCESS}, [], [True]))
    name = stage.name("pod-refused")
    with Agent(file.read_text(), refuses=True) as agent:
        environment = site.reach(name) | agent.environment(file) | {"CNE_STORE_RETRY_TIMEOUT": "1s"}
        other, seen = refused(stage, site, table, name, environment, "CNE-2016", "403")
    out.wrong += other.wrong
    out.check(bool(agent.requests) and not any(agent.requests), f"the endpoint's answers: {agent.requests}")
    return out


def chained(stage: Stage, site: Site, table: Table) -> Outcome:
    """The table's bucket by a role that is assumed from the executor's own, with the external id that its owner asks for."""
    name = stage.name("chained")
    file = stage.folder / f"{name}.toml"
    role = f'[buckets.{sts.TABLES}]\nrole_arn = "{sts.PARTNER}"\nsession_name = "{name}-partner"\n'
    file.write_text(role + f'external_id = "{sts.EXTERNAL_ID}"\n')
    environment = site.environment(name, stage.token(name)) | {"CNE_BUCKETS_FILE": str(file)}
    site.sts.refuse = sts.external_id
    try:
        out, seen = right(stage, site, table, name, environment)
        file.write_text(role + 'external_id = "of-somebody-else"\n')
        with stage.executors({name: environment}):
            text = stage.failure(table)
    finally:
        site.sts.refuse = lambda call: None
    for part in ("CNE-2017", "AccessDenied", sts.PARTNER):
        out.check(part in text, f"{part!r} is missing in {text or 'rows'!r}")
    own = [c.key for c in seen.calls if c.session == name]
    signers = {bucket: {r.key for r in seen.requests if r.path.startswith(f"{bucket}/")} for bucket in (sts.TABLES, sts.SHUFFLE)}
    out.equal("signers", signers, {sts.TABLES: set(site.sts.keys(f"{name}-partner")), sts.SHUFFLE: set(own)})
    out.equal("calls", sorted(c.action for c in seen.calls), ["AssumeRole", "AssumeRoleWithWebIdentity"])
    return out


def anonymous(stage: Stage, site: Site, table: Table) -> Outcome:
    """A bucket that is said to be public is asked without a signature, and no other bucket is. This one is not public, and says so."""
    name = stage.name("anonymous")
    file = stage.folder / f"{name}.toml"
    file.write_text(f"[buckets.{sts.TABLES}]\nanonymous = true\n")
    environment = site.environment(name, stage.token(name)) | {"CNE_BUCKETS_FILE": str(file)}
    out = Outcome()
    with Watch(stage, site) as seen, stage.executors({name: environment}):
        text = stage.failure(table)
        until("a request for the shuffle's bucket", 10, lambda: site.sts.keys(name))
    out.check("CNE-2011" in text, text)
    out.equal("signers of the table's requests", {r.key for r in seen.requests if r.path.startswith(sts.TABLES)}, {""})
    out.check("" not in {r.key for r in seen.requests if r.path.startswith(sts.SHUFFLE)}, "unsigned requests to the shuffle's bucket")
    return out


def unusable(stage: Stage, site: Site, _: Table) -> Outcome:
    """What contradicts itself or is not known ends the executor at its start, with a text that names it."""
    out = Outcome()
    web = site.environment("x", stage.token("unusable"))
    keys = {"AWS_ACCESS_KEY_ID": s3.ACCESS, "AWS_SECRET_ACCESS_KEY": s3.SECRET}
    wrong = stage.folder / "wrong.toml"
    wrong.write_text('[buckets.tables]\nregoin = "eu-central-1"\n')
    plain = {k: v for k, v in web.items() if k != "AWS_ALLOW_HTTP"} | {"AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1"}
    for environment, named in [
            (web | keys, ["AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"]),
            ({k: v for k, v in web.items() if k != "AWS_ROLE_ARN"}, ["AWS_ROLE_ARN is not"]),
            ({k: v for k, v in web.items() if k != "AWS_WEB_IDENTITY_TOKEN_FILE"}, ["AWS_WEB_IDENTITY_TOKEN_FILE is not"]),
            (plain, ["AWS_ENDPOINT_URL_STS", "TLS"]),
            (web | {"AWS_SKIP_SIGNATURE": "true"}, ["AWS_SKIP_SIGNATURE", "anonymous"]),
            (web | {"CNE_BUCKETS_FILE": str(wrong)}, [str(wrong), "regoin"])]:
        own = {"CNE_TICKET_KEY": stage.pool.ticket_key, "CNE_STORAGE_URL": stage.pool.storage_url, "CNE_WORK_DIR": str(stage.folder / "work"),
               "CNE_SCHEDULER_ADDRESS": stage.pool.internal}
        ended = subprocess.run([paths.binary("comet-executor")], env=own | environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, timeout=30)
        stage.texts.append(ended.stdout)
        out.check(ended.returncode not in (0, None) and all(n in ended.stdout for n in named), f"{named}: {ended.returncode} {ended.stdout}")
    return out


CASES = {
    "valid token": valid, "no token file": no_token, "expired token": expired, "wrong audience": wrong_audience, "foreign role": wrong_role,
    "unknown role": no_role, "role without permission": no_permission, "token service away": service_away, "static keys and buckets file": static_keys,
    "named profile": profile, "machine's role": machine, "pod identity": pod_identity, "chained role with external id": chained,
    "public bucket": anonymous, "unusable configuration": unusable,
}
