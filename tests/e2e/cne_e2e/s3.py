"""Real S3 servers on loopback, for tests: versitygw (objects are plain files) and SeaweedFS.

    python -m cne_e2e.s3 versitygw|seaweedfs COMMAND ...     # runs the command beside a server; CNE_TEST_S3_URL names a bucket
"""
import argparse
import contextlib
import hashlib
import hmac
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

from . import paths, pool

BUCKET = "test"
ACCESS, SECRET = "admin", "adminsecret"
START_SECONDS = 60


def binary(name: str) -> Path:
    """The server's binary in the version that its module in tools/s3 requires."""
    module = (paths.ROOT / "tools" / "s3" / name / "go.mod").read_text()
    version = re.search(rf"^require \S+/{name} (\S+)", module, re.M).group(1)
    path = paths.CACHE / "s3" / f"{name}-{version}"
    if not path.exists():
        raise SystemExit(f"{path} is missing: run `tools/setup {name}`")
    return path


class Client:
    """A few requests to the bucket, signed (version 4), each sent once: what goes wrong is raised as an OSError."""

    def __init__(self, address: str, seconds: float = 10):
        self.connection = http.client.HTTPConnection(address, timeout=seconds)

    def ask(self, verb: str, path: str, query: dict | None = None, body: bytes = b"", wanted=(200, 204)) -> bytes:
        """One request; its answer's body."""
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        quoted = "&".join(f"{quote(k, safe='')}={quote(v, safe='')}" for k, v in sorted((query or {}).items()))
        headers = {"host": f"{self.connection.host}:{self.connection.port}", "x-amz-content-sha256": hashlib.sha256(body).hexdigest(),
                   "x-amz-date": now}
        names = ";".join(sorted(headers))
        lines = [verb, quote(path), quoted, *(f"{k}:{headers[k]}" for k in sorted(headers)), "", names, headers["x-amz-content-sha256"]]
        scope = f"{now[:8]}/us-east-1/s3/aws4_request"
        key = f"AWS4{SECRET}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256("\n".join(lines).encode()).hexdigest()])
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={ACCESS}/{scope}, SignedHeaders={names}, Signature={signature}"
        try:
            self.connection.request(verb, quote(path) + (f"?{quoted}" if quoted else ""), body, headers)
            answer = self.connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if answer.status not in wanted:
            raise OSError(f"{verb} {path}: {answer.status} {data[:300]!r}")
        return data

    def put(self, key: str, data: bytes) -> None:
        """Writes an object."""
        self.ask("PUT", f"/{BUCKET}/{key}", body=data)

    def get(self, key: str) -> bytes:
        """Reads an object."""
        return self.ask("GET", f"/{BUCKET}/{key}")

    def delete(self, key: str) -> None:
        """Removes an object, if it is there."""
        self.ask("DELETE", f"/{BUCKET}/{key}")

    def list(self, prefix: str = "") -> list[str]:
        """The keys that begin so, in order."""
        keys, more = [], {}
        while True:
            tree = ElementTree.fromstring(self.ask("GET", f"/{BUCKET}", {"list-type": "2", "prefix": prefix} | more))
            names = {e.tag.split("}")[-1]: e.text for e in tree}
            keys += [e.text for e in tree.iter() if e.tag.endswith("Key")]
            if names.get("IsTruncated") != "true":
                return keys
            more = {"continuation-token": names["NextContinuationToken"]}

    def close(self) -> None:
        """Ends the connection."""
        self.connection.close()


class Server:
    """One server with an empty bucket, in a folder of its own, which goes with it. Start it from the main thread only, as a Pool."""

    def __init__(self, name: str = "versitygw"):
        self.name = name
        self.address = f"127.0.0.1:{pool.free_port()}"
        self.process: subprocess.Popen | None = None

    @property
    def endpoint(self) -> str:
        """The server's URL."""
        return f"http://{self.address}"

    def environment(self, address: str | None = None, unsigned: bool = False) -> dict[str, str]:
        """What a client of ours needs; `address` of a proxy in the server's place, `unsigned` payloads."""
        env = {"AWS_ENDPOINT_URL": f"http://{address or self.address}", "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
               "AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET}
        return env | ({"AWS_UNSIGNED_PAYLOAD": "true"} if unsigned else {})

    def client(self) -> "Client":
        """A client that is not ours, to look into the bucket."""
        return Client(self.address)

    def _command(self) -> list[str]:
        program, data = str(binary(self.name)), self.folder / "data"
        data.mkdir()
        if self.name == "versitygw":
            return [program, "--access", ACCESS, "--secret", SECRET, "--port", self.address, "--quiet", "--keep-alive", "posix", str(data)]
        identity = {"name": "admin", "credentials": [{"accessKey": ACCESS, "secretKey": SECRET}],
                    "actions": ["Admin", "Read", "Write", "List", "Tagging"]}
        config = self.folder / "s3.json"
        config.write_text(json.dumps({"identities": [identity]}))
        command = [program, "-logtostderr=true", "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={data}",
                   "-master.volumeSizeLimitMB=1024", "-volume.max=20", "-volume.preStopSeconds=1", "-filer=true", "-s3=true",
                   f"-s3.port={self.address.split(':')[1]}", f"-s3.config={config}", "-s3.port.iceberg=0"]
        # Each port has a gRPC port beside it, by default 10000 above, which may be no port at all.
        for part in ("master", "volume", "filer"):
            command += [f"-{part}.port={pool.free_port()}", f"-{part}.port.grpc={pool.free_port()}"]
        return command + [f"-s3.port.grpc={pool.free_port()}"]

    def start(self) -> "Server":
        """Starts the server and waits until the bucket takes an object."""
        base = paths.CACHE / "run"
        base.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f"s3-{os.getpid()}-", dir=base))
        with open(self.folder / "server.log", "ab") as log:
            self.process = subprocess.Popen(self._command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                                            start_new_session=True, preexec_fn=pool.die_with_parent)
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise
        return self

    def _wait(self) -> None:
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                with contextlib.closing(self.client()) as client:
                    client.ask("PUT", f"/{BUCKET}", wanted=(200, 409))
                    # SeaweedFS refuses the first objects, until a volume has grown.
                    client.put(".started", b"1")
                    client.delete(".started")
                return
            except (OSError, http.client.HTTPException) as e:
                log = (self.folder / "server.log").read_text(errors="replace")[-2000:]
                if self.process.poll() is not None:
                    raise RuntimeError(f"{self.name} ended with {self.process.returncode}:\n{log}") from e
                if time.monotonic() > end:
                    raise RuntimeError(f"{self.name} takes no objects: {e}\n{log}") from e
                time.sleep(0.2)

    def stop(self) -> None:
        """Ends the server, for certain, and removes its data, which nobody needs."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "Server":
        return self.start()

    def __exit__(self, *_) -> None:
        self.stop()


def main() -> int:
    """Runs a command beside a server and returns the command's exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", choices=["versitygw", "seaweedfs"])
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    pool.interruptible()
    with Server(args.server) as server:
        env = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        return subprocess.call(args.command, env=env | server.environment() | {"CNE_TEST_S3_URL": f"s3://{BUCKET}/shuffle"})


if __name__ == "__main__":
    sys.exit(main())
