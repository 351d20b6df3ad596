"""SeaweedFS as S3 server and security token service that enforce what they issue, and a proxy with TLS before the latter.

The proxy counts the calls by session name, which tells the processes apart, makes chosen ones fail, and keeps what was issued: the secrets that must
be found nowhere.
"""
import contextlib
import http.client
import http.server
import json
import random
import re
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs

from .. import s3
from ..certificates import Authority
from .oidc import AUDIENCE, SUBJECT

TABLES, SHUFFLE = "tables", "shuffle"
ACCOUNT = "111122223333"


def arn(role: str) -> str:
    """The ARN of one of the roles below."""
    return f"arn:aws:iam::{ACCOUNT}:role/{role}"


EXECUTOR, ELSEWHERE, FOREIGN, PARTNER = arn("comet-executor"), arn("comet-elsewhere"), arn("somebody-else"), arn("partner-data")
EXTERNAL_ID = "the-partners-word"


def _allow(actions: list[str], *resources: str) -> dict:
    return {"Effect": "Allow", "Action": actions, "Resource": [f"arn:aws:s3:::{r}" for r in resources]}


def _policy(name: str, *statements: dict) -> dict:
    return {"name": name, "document": {"Version": "2012-10-17", "Statement": list(statements)}}


def _role(arn: str, policy: str, subject: str) -> dict:
    trust = {"Effect": "Allow", "Principal": {"Federated": "cluster"}, "Action": ["sts:AssumeRoleWithWebIdentity"],
             "Condition": {"StringEquals": {"oidc:sub": subject}}}
    return {"roleName": arn.rsplit("/", 1)[-1], "roleArn": arn, "attachedPolicies": [policy],
            "trustPolicy": {"Version": "2012-10-17", "Statement": [trust]}}


def _partner() -> dict:
    # SeaweedFS knows no external ids: `external_id` below stands for that part of a trust policy.
    trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": ["sts:AssumeRole"]}
    return {"roleName": "partner-data", "roleArn": PARTNER, "attachedPolicies": ["Executor"],
            "trustPolicy": {"Version": "2012-10-17", "Statement": [trust]}}


class Server(s3.Server):
    """SeaweedFS with the roles of an executor, which end after `seconds`; tokens come from `issuer`."""

    def __init__(self, issuer: str, seconds: int):
        super().__init__("seaweedfs")
        self.issuer, self.seconds = issuer, seconds

    def _command(self) -> list[str]:
        read = _allow(["s3:GetObject"], f"{TABLES}/*")
        write = _allow(["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"], f"{SHUFFLE}/*")
        lists = _allow(["s3:ListBucket", "s3:GetBucketLocation"], TABLES, SHUFFLE)
        config = {
            "sts": {"tokenDuration": f"{self.seconds}s", "maxSessionLength": f"{self.seconds + 5}s", "issuer": "sts", "accountId": ACCOUNT,
                    "signingKey": "bm8tc2VjcmV0LW9mLWFueWJvZHktb24tbG9vcGJhY2s="},
            "policy": {"defaultEffect": "Deny", "storeType": "memory"},
            "providers": [{"name": "cluster", "type": "oidc", "enabled": True,
                           "config": {"issuer": self.issuer, "clientId": AUDIENCE, "jwksUri": f"{self.issuer}/keys"}}],
            "policies": [_policy("Executor", read, write, lists), _policy("Elsewhere", _allow(["s3:GetObject"], "elsewhere/*"))],
            "roles": [_role(EXECUTOR, "Executor", SUBJECT), _role(ELSEWHERE, "Elsewhere", SUBJECT),
                      _role(FOREIGN, "Executor", "system:serviceaccount:other:other"), _partner()],
        }
        file = self.folder / "iam.json"
        file.write_text(json.dumps(config))
        # Each bucket has volumes of its own.
        command = [c for c in super()._command() if not c.startswith("-volume.max=")]
        return command + ["-volume.max=100", f"-s3.iam.config={file}"]

    def start(self) -> "Server":
        """As its base, with the buckets of tables and of the shuffle."""
        super().start()
        with contextlib.closing(self.client()) as client:
            for bucket in (TABLES, SHUFFLE):
                client.ask("PUT", f"/{bucket}", wanted=(200, 409))
                self._takes_objects(client, bucket)
        return self

    def _takes_objects(self, client: s3.Client, bucket: str) -> None:
        """The first ones are refused, until a volume has grown."""
        end = time.monotonic() + s3.START_SECONDS
        while True:
            try:
                client.ask("PUT", f"/{bucket}/.started", body=b"1")
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)


@dataclass
class Call:
    """One request for credentials."""

    session: str
    action: str
    begun: float
    # Of this session, when it came: itself included.
    outstanding: int
    ended: float = 0
    status: int = 0
    code: str = ""
    # The external id that came with it.
    external: str = ""
    # The access key that was issued.
    key: str = ""


@dataclass
class Proxy:
    """Before the service at `upstream` (host:port). `refuse` says of a call which error it gets, if any; each call takes `seconds` at least."""

    upstream: str
    folder: Path
    refuse: Callable[[Call], str | None] = lambda call: None
    seconds: float = 0
    calls: list[Call] = field(default_factory=list)
    secrets: set[str] = field(default_factory=set)

    def __post_init__(self):
        self._lock, self._open = threading.Lock(), defaultdict(int)
        # An authority, which is what clients are told, and a server's certificate of it.
        authority = Authority(self.folder / "sts-ca", "sts")
        self.certificate = authority.cert
        server = authority.issue(self.folder / "sts", "IP:127.0.0.1", "serverAuth")
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(server.cert, server.key)

    def __enter__(self) -> "Proxy":
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                status, answer = proxy.answer(dict(self.headers.items()), body)
                self.send_response(status)
                self.send_header("content-type", "text/xml")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            request_queue_size = 256
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that went away

        self.server = Listener(("127.0.0.1", 0), Handler)
        # Not while accepting: one slow client would hold up all others.
        self.server.socket = self._tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True, name="sts").start()
        return self

    def __exit__(self, *_) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, headers: dict, body: bytes) -> tuple[int, bytes]:
        """What one call gets."""
        form = {k: v[0] for k, v in parse_qs(body.decode()).items()}
        session = form.get("RoleSessionName", "")
        with self._lock:
            self._open[session] += 1
            call = Call(session, form.get("Action", ""), time.time(), self._open[session], external=form.get("ExternalId", ""))
            self.calls.append(call)
        try:
            time.sleep(self.seconds)
            code = self.refuse(call)
            status, data = _error(code) if code else self._ask(headers, body)
            call.status, text = status, data.decode(errors="replace")
            call.code = _found(text, "Code")
            call.key = _found(text, "AccessKeyId")
            with self._lock:
                self.secrets |= {s for s in (_found(text, "SecretAccessKey"), _found(text, "SessionToken")) if s}
            return status, data
        finally:
            with self._lock:
                self._open[session] -= 1
                call.ended = time.time()

    def _ask(self, headers: dict, body: bytes) -> tuple[int, bytes]:
        with contextlib.closing(http.client.HTTPConnection(self.upstream, timeout=20)) as connection:
            connection.putrequest("POST", "/", skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                if name.lower() != "connection":
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def keys(self, session: str | None = None) -> list[str]:
        """The access keys that were issued, of one session or all."""
        return [c.key for c in self.calls if c.key and session in (None, c.session)]


def _found(text: str, tag: str) -> str:
    found = re.search(f"<{tag}>([^<]*)</{tag}>", text)
    return found.group(1) if found else ""


def _error(code: str) -> tuple[int, bytes]:
    status = 503 if code == "ServiceUnavailable" else 400
    text = f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>made by the test</Message></Error><RequestId>r</RequestId></ErrorResponse>"
    return status, text.encode()


def external_id(call: Call) -> str | None:
    """Refuses to have a role assumed without the external id that its owner asks for."""
    return "AccessDenied" if call.action == "AssumeRole" and call.external != EXTERNAL_ID else None


def throttle(part: float, seed: int) -> Callable[[Call], str | None]:
    """Refuses this part of the calls, by chance: with STS's throttling, or an answer of 503."""
    chance, lock = random.Random(seed), threading.Lock()

    def refuse(_: Call) -> str | None:
        with lock:
            return chance.choice(("Throttling", "ServiceUnavailable")) if chance.random() < part else None
    return refuse
