"""TPC-H through containers: scheduler, executors, S3 server and driver in a network of their own; the last line ends with `22/22 equal`.

    python -m cne_images.compose [--scale 1] [--executors 2] [--memory 512m] [--cpus 1] [--profile release|debug] [--keep]

The verdict also counts what was killed by a memory limit: any is a failure. Everything is taken down at the end.
"""
import argparse
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cne_e2e import golden, paths, pool, queries, session
from cne_e2e.certificates import Authority

from . import build, counters, engine, pins
from .engine import docker

MIB = 1 << 20
# What every member's certificate names: executors are reached by addresses that nobody knows before.
SERVER_NAME = "comet-pool"


class Demo:
    """One run of compose.yaml, with its secrets in a folder of its own. Everything goes at the end of the block."""

    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.name = f"cne-demo-{os.getpid()}"
        # Containers see the folders of their roles alone.
        base = pins.CACHE / "run"
        base.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=base))
        self.environment = {
            "COMPOSE_PROJECT_NAME": self.name, "IMAGE_TAG": pins.tag("", args.profile).lstrip(":"), "POOL_DIR": str(self.folder),
            "DATA_DIR": str(paths.data("tpch", args.scale)), "SOURCE_DIR": str(paths.ROOT), "EXECUTORS": str(args.executors),
            "EXECUTOR_MEMORY": args.memory, "EXECUTOR_CPUS": args.cpus,
            # Of the range for benchmarks, which no network uses.
            "SUBNET": f"198.18.{os.getpid() % 256}.0/24", "S3_ACCESS_KEY": "pool", "S3_SECRET_KEY": secrets.token_hex(20)}

    def __enter__(self) -> "Demo":
        return self

    def __exit__(self, *_) -> None:
        if self.args.keep:
            print(f"== kept: {self.folder}, COMPOSE_PROJECT_NAME={self.name}", file=sys.stderr)
            return
        self.compose("down", "--volumes", "--timeout", "5", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _command(self, *args: str) -> list[str]:
        client = ["docker", "compose"] if docker("compose", "version", check=False).returncode == 0 else ["docker-compose"]
        return [*client, "--file", str(pins.SOURCE / "compose.yaml"), *args]

    def compose(self, *args: str, check: bool = True, **options) -> subprocess.CompletedProcess:
        """One call of compose."""
        return subprocess.run(self._command(*args), check=check, env=os.environ | self.environment, **options)

    def drive(self) -> tuple[int, str]:
        """Runs the driver and shows what it says: its exit code, and `N/N equal`."""
        answer = "no answer"
        # Without a terminal its output can be read.
        with subprocess.Popen(self._command("run", "--rm", "-T", "driver"), env=os.environ | self.environment, stdout=subprocess.PIPE, text=True) as driver:
            for line in driver.stdout:
                print(line, end="", flush=True)
                answer = line.strip() if re.fullmatch(r"\d+/\d+ equal\s*", line) else answer
        return driver.returncode, answer

    def prepare(self) -> None:
        """The files that are mounted into the containers."""
        key = f"demo:{secrets.token_hex(32)}"
        members, drivers = Authority(self.folder / "members", "demo pool"), Authority(self.folder / "drivers", "demo drivers")
        for role in ("scheduler", "executor", "driver"):
            folder = self.folder / role
            folder.mkdir()
            self._give(role, "ca.crt", members.cert.read_text())
            if role == "driver":
                drivers.issue(folder / "tls", "DNS:demo", "clientAuth")
            else:
                self._give(role, "ticket-key", key)
                self._give(role, "drivers.crt", drivers.cert.read_text())
                members.issue(folder / "tls", f"DNS:{SERVER_NAME}")
            (folder / "tls.key").chmod(0o644)
        answers, _ = golden.tpch_answers(self.args.scale)
        self._give("driver", "queries.json", json.dumps(queries.tpch()))
        self._give("driver", "answers.json", json.dumps({name: vars(answer) for name, answer in answers.items()}))
        self._give("driver", "spark.conf", self._spark_conf())

    def _give(self, role: str, name: str, text: str) -> None:
        """A file for one role. Its user in the container is none of this machine, so everybody may read it; the folder above is the owner's alone."""
        file = self.folder / role / name
        file.write_text(text)
        file.chmod(0o644)

    def _spark_conf(self) -> str:
        own = "spark.comet.nativeExecutors.tls"
        settings = {session.URL: "grpc+tls://scheduler:50050", f"{own}.ca": "/run/pool/ca.crt", f"{own}.cert": "/run/pool/tls.crt",
                    f"{own}.key": "/run/pool/tls.key", f"{own}.serverName": SERVER_NAME, "spark.sql.session.timeZone": "UTC", "spark.log.level": "ERROR", "spark.app.name": "compose-demo",
                    "spark.driver.extraJavaOptions": "-Djava.io.tmpdir=/work", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
                    "spark.ui.showConsoleProgress": "false"}
        defaults = (pins.SOURCE / "spark-defaults.conf").read_text()
        return defaults + "".join(f"{key} {value}\n" for key, value in settings.items())

    def executors(self) -> list[dict]:
        """What the engine says of the executors."""
        ids = self.compose("ps", "-q", "executor", stdout=subprocess.PIPE, text=True).stdout.split()
        return json.loads(docker("inspect", *ids).stdout)

    def logs(self, service: str) -> str:
        """The end of a service's log, for a failure."""
        done = self.compose("logs", "--no-color", "--tail", "30", service, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.stdout


def judge(executors: list[dict]) -> tuple[int, int, list[str]]:
    """Prints what happened to the executors: how many were killed by their memory limit, how many ended or were started again, and which did nothing."""
    killed, ended, idle = 0, 0, []
    for found in sorted(executors, key=lambda one: one["Name"]):
        name, state = found["Name"].lstrip("/"), found["State"]
        log = docker("logs", found["Id"])
        tasks = (log.stdout + log.stderr).count("task done")
        if not state["Running"] or state["OOMKilled"] or found["RestartCount"]:
            killed += bool(state["OOMKilled"])
            ended += 1
            print(f"{name}: ended with {state['ExitCode']}, OOMKilled={state['OOMKilled']}, restarts {found['RestartCount']}", flush=True)
            continue
        used = counters.memory(state["Pid"])
        killed += used.killed
        sized = re.search(r"slots=\d+ memory=\d+", re.sub(r"\x1b\[[0-9;]*m", "", log.stdout))
        peak = f"{used.peak / MIB:.0f}" if used.peak is not None else "?"
        print(f"{name}: {tasks} tasks, {sized[0] if sized else 'size unknown'}, memory limit {used.limit / MIB:.0f} MiB, peak of the process "
              f"{used.process / MIB:.0f} MiB, with page cache {peak} MiB, "
              f"limit reached {used.reached} times, OOMKilled={state['OOMKilled']}, oom kills {used.killed}", flush=True)
        if not tasks:
            idle.append(name)
    return killed, ended, idle


def run(demo: Demo) -> int:
    """Starts everything, runs the driver, judges."""
    demo.prepare()
    print(f"== {demo.args.executors} executors of {demo.args.memory} and {demo.args.cpus} CPU, TPC-H at scale {demo.args.scale}", file=sys.stderr, flush=True)
    demo.compose("up", "--detach", "s3", "scheduler", "executor", stdout=sys.stderr)
    code, answer = demo.drive()
    killed, ended, idle = judge(demo.executors())
    if code or killed or ended or idle:
        for service in ("scheduler", "executor"):
            print(demo.logs(service), file=sys.stderr)
    wrong = [f"{killed} killed by their memory limit"] * bool(killed) + [f"{ended} executors ended"] * bool(ended) + [f"idle: {', '.join(idle)}"] * bool(idle) + [f"driver ended with {code}"] * bool(code)
    print("compose-demo: " + ", ".join([*wrong, "mutual TLS", f"{demo.args.executors} executors of {demo.args.memory}", f"oom kills {killed}", answer]), flush=True)
    return 1 if wrong else 0


def main() -> int:
    """Runs the demo."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--executors", type=int, default=2)
    parser.add_argument("--memory", default="512m", help="memory limit of each executor")
    parser.add_argument("--cpus", default="1", help="CPU limit of each executor")
    parser.add_argument("--profile", default="release", choices=["release", "debug"])
    parser.add_argument("--built", action="store_true", help="the images are there already")
    parser.add_argument("--keep", action="store_true", help="leave everything running")
    args = parser.parse_args()
    pool.interruptible()
    with engine.engine():
        engine.install()
        if not args.built:
            build.build(list(build.STAGES), args.profile)
        with Demo(args) as demo:
            return run(demo)


if __name__ == "__main__":
    sys.exit(main())
