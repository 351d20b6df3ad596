"""Drivers whose Spark executors are processes of their own: a standalone cluster on loopback, and a driver in a process of its own.

    python -m cne_e2e.cluster < requests      # Spark's settings as JSON in the first line, then one request per line; one JSON line each back
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from . import golden, paths, pool, session, tpch

# Dynamic allocation that begins without an executor.
FROM_ZERO = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.initialExecutors": "0",
             "spark.dynamicAllocation.minExecutors": "0", "spark.dynamicAllocation.maxExecutors": "1"}


def home() -> Path:
    """Spark's home: the PySpark distribution."""
    import pyspark

    return Path(pyspark.__file__).parent


def executor_conf(p_url: str, master: str) -> dict:
    """What a driver under a cluster manager has, whose executors find the jars where the driver does."""
    jars = f"{paths.COMET_JAR}:{paths.driver_jar()}"
    return session.pool_conf(p_url) | {
        "spark.master": master, "spark.executor.extraClassPath": jars, "spark.executor.memory": "1g", "spark.executor.cores": "1",
        "spark.cores.max": "1", "spark.driver.memory": "1g", "spark.memory.offHeap.size": "256m"}


class Standalone:
    """Spark's own cluster manager on loopback ports; a context manager that stops it. Begins without a worker."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cne-standalone-"))
        self.port, self.web = pool.free_port(), pool.free_port()
        self.processes: list[subprocess.Popen] = []

    @property
    def master(self) -> str:
        """What spark.master is set to."""
        return f"spark://127.0.0.1:{self.port}"

    def _start(self, name: str, *arguments: str) -> None:
        command = [str(home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *arguments]
        env = os.environ | {"SPARK_HOME": str(home()), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(self.folder / "work"),
                            "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOG_DIR": str(self.folder)}
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes.append(subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                   start_new_session=True, preexec_fn=pool.die_with_parent))

    def _state(self) -> dict:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.web}/json", timeout=5) as answer:
            return json.loads(answer.read())

    def _wait(self, workers: int) -> None:
        end, last = time.monotonic() + 60, "no answer"
        while True:
            try:
                last = self._state()
                if last["aliveworkers"] == workers:
                    return
            except (OSError, urllib.error.URLError, ValueError) as e:
                last = e
            logs = "\n".join(f.read_text(errors="replace")[-1500:] for f in self.folder.glob("*.log"))
            assert time.monotonic() < end, f"the standalone cluster has not {workers} workers: {last}\n{logs}"
            time.sleep(0.2)

    def add_worker(self) -> None:
        """One worker of one core and 1 GiB; returns when the master knows it."""
        self._start("worker.Worker", "--cores", "1", "--memory", "1g", "--webui-port", str(pool.free_port()), self.master)
        self._wait(1)

    def __enter__(self) -> "Standalone":
        self._start("master.Master", "--port", str(self.port), "--webui-port", str(self.web))
        try:
            self._wait(0)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        # The worker first: it ends its executors.
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


class Driver:
    """A classic Spark session in a process of its own; a context manager that ends it."""

    def __init__(self, conf: dict):
        self.conf = conf
        self.log = Path(tempfile.mkdtemp(prefix="cne-driver-")) / "driver.log"
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> "Driver":
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([sys.executable, "-m", "cne_e2e.cluster"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                            text=True, cwd=paths.ROOT / "tests" / "e2e", start_new_session=True, preexec_fn=pool.die_with_parent)
        self._say(self.conf)
        return self

    def __exit__(self, *_) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def _say(self, what: dict) -> None:
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def ask(self, **request) -> dict:
        """`tpch="q3"`: its `difference` from plain Spark's answer. `sql="..."`: its `rows`, or its `error`. Either with `seconds`; `conf={}` is set before."""
        self._say(request)
        line = self.process.stdout.readline()
        assert line, f"the driver ended:\n{self.log.read_text(errors='replace')[-4000:]}"
        return json.loads(line)


def answer(spark, request: dict, want: dict) -> dict:
    """What one request gives."""
    start = time.monotonic()
    for key, value in request.get("conf", {}).items():
        spark.conf.set(key, value)
    if "tpch" in request:
        session.tpch_views(spark, "0.01")
        result = tpch.check(spark, request["tpch"], want[request["tpch"]])
        out = {"difference": result.difference}
    else:
        try:
            out = {"rows": [list(map(str, row)) for row in spark.sql(request["sql"]).collect()]}
        except Exception as e:  # what the client sees
            out = {"error": tpch.first_lines(e, 2000)}
    executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    return out | {"seconds": time.monotonic() - start, "executors": executors}


def main() -> int:
    """Answers requests until its input ends."""
    out, lines = sys.stdout, iter(sys.stdin.readline, "")
    sys.stdout = sys.stderr
    conf = json.loads(next(lines))
    want = golden.tpch_answers("0.01")[0]
    spark = session.classic(conf)
    for line in lines:
        print(json.dumps(answer(spark, json.loads(line), want)), file=out, flush=True)
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
