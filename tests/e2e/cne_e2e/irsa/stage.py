"""What every case needs: a scheduler and a Spark driver that stay, an S3 server with its proxies, and executors that come and go with their case."""
import contextlib
import json
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from .. import pool, s3proxy
from . import sts, table
from .metadata import Temptation
from .oidc import Issuer


@dataclass
class Site:
    """One S3 server and its token service, each behind a proxy; sessions end after `seconds`."""

    server: sts.Server
    s3: s3proxy.Proxy
    sts: sts.Proxy

    def environment(self, name: str, token: Path, role: str = sts.EXECUTOR) -> dict[str, str]:
        """Of an executor whose pod has a service account."""
        return self.reach(name) | {"AWS_WEB_IDENTITY_TOKEN_FILE": str(token), "AWS_ROLE_ARN": role, "AWS_ROLE_SESSION_NAME": name}

    def reach(self, name: str) -> dict[str, str]:
        """Where everything is, and no identity."""
        return {"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL_S3": f"http://{self.s3.address(name)}", "AWS_ENDPOINT_URL_STS": self.sts.url,
                "AWS_ALLOW_HTTP": "true", "SSL_CERT_FILE": str(self.sts.certificate)}


@contextlib.contextmanager
def site(folder: Path, issuer: Issuer, seconds: int):
    """Starts one."""
    folder.mkdir()
    with sts.Server(issuer.url, seconds) as server, s3proxy.Proxy(server.address) as s3, sts.Proxy(server.address, folder) as tokens:
        yield Site(server, s3, tokens)


@dataclass
class Stage:
    """The stage of all cases."""

    folder: Path
    pool: pool.Pool
    issuer: Issuer
    temptation: Temptation
    spark: object
    environments: dict[str, dict] = field(default_factory=dict)
    # Everything that was printed or answered and is no file: it is searched for secrets too.
    texts: list[str] = field(default_factory=list)
    count: int = 0
    log_level: str = "debug"

    def name(self, case: str) -> str:
        """A name for the next executor."""
        self.count += 1
        return f"x{self.count:02}-{case}"

    def token(self, name: str, **claims) -> Path:
        """A token file for an executor."""
        return self.issuer.write(self.folder / f"{name}.token", **claims)

    @contextlib.contextmanager
    def executors(self, environments: dict[str, dict], settings: dict | None = None):
        """These executors, for as long as the block takes; what they would be led astray by is within their reach."""
        for name, environment in environments.items():
            self.environments[name] = self.temptation.environment() | {"CNE_STORE_RETRY_TIMEOUT": "10s", "CNE_LOG_LEVEL": self.log_level} \
                | (settings or {}) | environment
            self.pool.start_executor(name)
        try:
            self.pool.wait_healthy()
            yield
            for name in environments:
                self.texts += [pool.get(self.pool.executor_http[name], "/metrics")[1], json.dumps(self.pool.executor_health()[name])]
        finally:
            for name in environments:
                if name in self.pool.processes:
                    self.pool.kill(name)
                del self.pool.executor_flight[name], self.pool.executor_http[name]

    def metric(self, name: str, metric: str) -> int:
        """A metric of an executor."""
        text = pool.get(self.pool.executor_http[name], "/metrics")[1]
        found = re.search(rf"^{re.escape(metric)} (\d+)$", text, re.M)
        if not found:
            raise AssertionError(f"{name} has no metric {metric}:\n{text}")
        return int(found.group(1))

    def failure(self, t: table.Table) -> str:
        """The error of the query; it has to fail."""
        text = table.error_of(self.spark, t)
        self.texts.append(text)
        return text


def until(what: str, seconds: float, done) -> None:
    """Waits."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.1)


@contextlib.contextmanager
def scheduler(**options):
    """A scheduler without executors, and the folder of its state."""
    with pool.temporary(executors=0, slots=1, **options) as p:
        yield p
