"""What a pool with mutual TLS and tenants is started with, and how drivers attach to it.

Below one folder: the pool's authority and the drivers', certificates of scheduler, executors and drivers, the file of tenants, and their tokens.
"""
import hashlib
import json
import secrets
import shutil
from pathlib import Path

from .certificates import Authority, Certificate

# In every certificate of the pool; local processes are dialled by addresses.
NAME = "comet-pool.internal"
_PREFIX = "spark.comet.nativeExecutors."


class Security:
    """Certificates and tenants of one pool. `tenants`: name to the prefixes that it may scan, or None for everything."""

    def __init__(self, folder: Path, tenants: dict[str, list[str] | None] | None = None):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)
        self.folder = folder
        self.pool = Authority(folder / "pool-ca", "comet pool")
        self.drivers = Authority(folder / "drivers-ca", "comet drivers")
        # What members and drivers trust: files beside those of the authorities, which a test may exchange.
        self.ca, self.client_ca = folder / "ca.pem", folder / "client-ca.pem"
        shutil.copy(self.pool.cert, self.ca)
        shutil.copy(self.drivers.cert, self.client_ca)
        self.members = {name: self.pool.issue(folder / name, f"DNS:{NAME}") for name in ("scheduler", "executor")}
        self.tenants = tenants or {"acme": None}
        self.tokens = {name: secrets.token_urlsafe(32) for name in self.tenants}
        self.clients: dict[str, Certificate] = {}
        self._write_tenants()

    def _write_tenants(self) -> None:
        text = ""
        for name, prefixes in self.tenants.items():
            token = self.folder / f"{name}.token"
            token.write_text(self.tokens[name])
            token.chmod(0o600)
            self.clients[name] = self.drivers.issue(self.folder / name, f"DNS:{name}.drivers.internal", usage="clientAuth")
            digest = hashlib.sha256(self.tokens[name].encode()).hexdigest()
            text += f'[[tenant]]\nname = "{name}"\ntoken_sha256 = ["{digest}"]\ncertificates = ["{name}.drivers.internal"]\n'
            if prefixes is not None:
                text += f"prefixes = {json.dumps(prefixes)}\n"
        (self.folder / "tenants.toml").write_text(text)

    def env(self, role: str) -> dict[str, str]:
        """Variables of a `scheduler` or `executor`."""
        env = {"CNE_TLS_CERT": self.members[role].cert, "CNE_TLS_KEY": self.members[role].key, "CNE_TLS_CA": self.ca, "CNE_TLS_CLIENT_CA": self.client_ca,
               "CNE_TLS_SERVER_NAME": NAME, "CNE_TENANTS_FILE": self.folder / "tenants.toml"}
        if role == "scheduler":
            env["CNE_SCALER_TLS"] = "true"
        return {key: str(value) for key, value in env.items()}

    def driver_conf(self, tenant: str | None = None, token: bool = True) -> dict[str, str]:
        """Spark's settings of a driver of a tenant (the first one unless named), with its token or its certificate."""
        tenant = tenant or next(iter(self.tenants))
        conf = {f"{_PREFIX}tls.ca": self.ca, f"{_PREFIX}tls.serverName": NAME}
        if token:
            conf[f"{_PREFIX}auth.tokenFile"] = self.folder / f"{tenant}.token"
        else:
            conf |= {f"{_PREFIX}tls.cert": self.clients[tenant].cert, f"{_PREFIX}tls.key": self.clients[tenant].key}
        return {key: str(value) for key, value in conf.items()}

    def issue(self, role: str) -> Certificate:
        """Another certificate for a role, in the place of the one that it has."""
        self.members[role] = self.pool.issue(self.folder / role, f"DNS:{NAME}")
        return self.members[role]

    def trust(self, *authorities: Authority) -> None:
        """Has members and drivers trust these authorities of the pool and no others."""
        part = self.ca.with_suffix(".part")
        part.write_text("".join(authority.cert.read_text() for authority in authorities))
        part.rename(self.ca)

    def flight(self, address: str, certificate: Certificate | None = None):
        """A Flight client, with the certificate of a member unless another is given."""
        from pyarrow import flight

        cert, key = (certificate or self.members["scheduler"]).pem()
        return flight.connect(f"grpc+tls://{address}", tls_root_certs=self.ca.read_bytes(), override_hostname=NAME, cert_chain=cert, private_key=key)
