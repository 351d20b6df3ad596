"""Spark Connect: a server from the PySpark distribution with the pool attached, and a client process for it.

    python -m cne_e2e.connect serve --pool grpc://127.0.0.1:50050 [--port 15002]     # until Ctrl-C
    python -m cne_e2e.connect tpch --remote sc://127.0.0.1:15002 --scale 0.01        # one JSON line per query
"""
import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from . import golden, paths, pool, queries, session, tpch


class Server:
    """A Spark Connect server on a loopback port; a context manager that stops it."""

    def __init__(self, conf: dict, port: int | None = None, log: Path | None = None):
        self.conf, self.port = conf, port or pool.free_port()
        self.log = log or Path(tempfile.mkdtemp(prefix="cne-connect-")) / "server.log"
        self.process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        """What a client connects to."""
        return f"sc://127.0.0.1:{self.port}"

    def __enter__(self) -> "Server":
        import pyspark

        home = Path(pyspark.__file__).parent
        conf = session.base_conf() | self.conf | {
            "spark.connect.grpc.binding.port": str(self.port), "spark.connect.grpc.binding.address": "127.0.0.1"}
        command = [str(home / "bin" / "spark-submit")]
        for key, value in conf.items():
            command += ["--conf", f"{key}={value}"]
        # The class is in a jar of the distribution: there is no file to submit.
        command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
        env = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True, preexec_fn=pool.die_with_parent)
        end = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() > end:
                text = self.log.read_text(errors="replace")[-3000:]
                self.__exit__()
                raise RuntimeError(f"the Spark Connect server did not start:\n{text}")
            time.sleep(0.2)

    def __exit__(self, *_) -> None:
        # spark-submit ends in `exec java`: the process started is the JVM itself.
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def client(remote: str, scale: str, names: list[str]) -> list[tpch.Result]:
    """Runs TPC-H queries over Connect in a process of its own (this one may have a classic session)."""
    command = [sys.executable, "-m", "cne_e2e.connect", "tpch", "--remote", remote, "--scale", scale, "--queries", ",".join(names)]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=paths.ROOT / "tests" / "e2e")
    return [tpch.Result(**json.loads(line)) for line in out.stdout.splitlines()]


def interrupt(remote: str) -> dict:
    """Starts a long query over Connect, interrupts it by its tag; its error and the seconds until the client had it."""
    command = [sys.executable, "-m", "cne_e2e.connect", "interrupt", "--remote", remote]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=paths.ROOT / "tests" / "e2e", timeout=120)
    return json.loads(out.stdout.splitlines()[-1])


def _interrupt(remote: str) -> dict:
    spark = session.remote(remote)
    session.tpch_views(spark, "0.01")
    outcome: dict = {}

    def run() -> None:
        spark.addTag("stop-me")
        try:
            spark.sql("SELECT sum(a.l_tax) AS s FROM lineitem a JOIN lineitem b ON a.l_quantity = b.l_quantity "
                      "AND a.l_comment < b.l_comment").collect()
            outcome["error"] = "none: the query had ended before it was interrupted"
        except Exception as e:  # what the client sees
            outcome["error"] = tpch.first_lines(e)
        outcome["ended"] = time.monotonic()

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(4)
    start = time.monotonic()
    spark.interruptTag("stop-me")
    thread.join(60)
    return {"error": outcome["error"], "seconds": outcome["ended"] - start}


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["serve", "tpch", "interrupt"])
    parser.add_argument("--pool")
    parser.add_argument("--port", type=int, default=15002)
    parser.add_argument("--remote")
    parser.add_argument("--scale", default="0.01")
    parser.add_argument("--queries", default=",".join(queries.tpch()))
    args = parser.parse_args()
    if args.command == "serve":
        pool.interruptible()
        standing = {} if args.pool else pool.standing() or {}
        url = args.pool or standing.get("url")
        if not url:
            raise SystemExit("no pool: run `just up`, or give --pool")
        with Server(session.pool_conf(url) | standing.get("conf", {}), args.port) as server:
            print(f"{server.url}, attached to {url}; log {server.log}; Ctrl-C stops it", flush=True)
            try:
                return server.process.wait()
            except KeyboardInterrupt:
                return 0
    if args.command == "interrupt":
        print(json.dumps(_interrupt(args.remote)), flush=True)
        return 0
    want, _ = golden.tpch_answers(args.scale)
    spark = session.remote(args.remote)
    session.tpch_views(spark, args.scale)
    for name in args.queries.split(","):
        print(json.dumps(vars(tpch.check(spark, name, want[name]))), flush=True)
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
