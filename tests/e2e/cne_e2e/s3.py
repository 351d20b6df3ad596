"""Real S3 servers on loopback, for tests: versitygw (objects are plain files) and SeaweedFS.

    python -m cne_e2e.s3 versitygw|seaweedfs COMMAND ...     # runs the command beside a server; CNE_TEST_S3_URL names a bucket
"""
import argparse
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

    def client(self):
        """A client that is not ours (pyarrow's), to look into the bucket."""
        from pyarrow import fs

        return fs.S3FileSystem(access_key=ACCESS, secret_key=SECRET, endpoint_override=self.endpoint, scheme="http", region="us-east-1",
                               allow_bucket_creation=True, connect_timeout=5, request_timeout=10)

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
                client = self.client()
                client.create_dir(BUCKET)
                # SeaweedFS refuses the first objects, until a volume has grown.
                with client.open_output_stream(f"{BUCKET}/.started") as out:
                    out.write(b"1")
                client.delete_file(f"{BUCKET}/.started")
                return
            except OSError as e:
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
