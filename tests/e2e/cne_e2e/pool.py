"""One scheduler and some executors as local processes on loopback.

    python -m cne_e2e.pool up|down|status      # the pool that stays, in $CNE_CACHE/pool; `up --tls`: with mutual TLS and a tenant

A `Pool` used as a context manager ends with its block, and the kernel kills its processes if this one dies first.
"""
import argparse
import ctypes
import json
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from . import paths
from .security import Security

STANDING = paths.CACHE / "pool"
HEALTH_SECONDS = float(os.environ.get("CNE_POOL_START_SECONDS", "60"))
_PR_SET_PDEATHSIG = 1


_given: set[int] = set()


def free_port() -> int:
    """A port that was free a moment ago. Not one of those that the kernel gives to outgoing connections: they come and go."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _given:
            _given.add(port)
            return port


def action(address: str, name: str, body: bytes = b"", timeout: float = 5, security: Security | None = None):
    """Calls a Flight action of a scheduler or executor (`host:port`) and reads its JSON body; as a member where the pool is secured."""
    from pyarrow import flight

    with (security.flight(address) if security else flight.connect(f"grpc://{address}")) as client:
        options = flight.FlightCallOptions(timeout=timeout)
        text = b"".join(r.body.to_pybytes() for r in client.do_action(flight.Action(name, body), options))
    return json.loads(text) if text else None


def get(address: str, path: str, timeout: float = 5) -> tuple[int, str]:
    """Status and body of a `GET` at a process's HTTP address (`host:port`)."""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=timeout) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def die_with_parent() -> None:
    """For a child, before it becomes another program: the kernel kills it when the thread that started it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _start_time(pid: int) -> str | None:
    """Kernel start time of a live process: with the id it names a process for good, ids alone are used again."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else fields[19]


class Pool:
    """A pool of local processes. Start it from the main thread only: the kernel ties the children to the starting thread."""

    def __init__(self, state: Path, executors: int = 2, slots: int = 2, stays: bool = False, roots: list | None = None,
                 memory_bytes: int | None = None, storage_url: str | None = None, scheduler_env: dict | None = None,
                 executor_env: dict | Callable[[str], dict] | None = None, security: Security | Callable[[Path], Security] | None = None):
        """`storage_url` in the place of a directory below `state`; `executor_env` also as a function of the executor's name; `security` also as
        a function of a folder for it."""
        self.state, self.count, self.slots, self.stays = Path(state), executors, slots, stays
        self.roots = [str(r) for r in roots or [paths.CACHE]]
        self.memory_bytes, self.storage_url = memory_bytes, storage_url
        self.scheduler_env, self.executor_env = scheduler_env or {}, executor_env or {}
        self._security, self.security = security, None
        self.flight = f"127.0.0.1:{free_port()}"
        self.internal = f"127.0.0.1:{free_port()}"
        self.http = f"127.0.0.1:{free_port()}"
        self.scaler = f"127.0.0.1:{free_port()}"
        self.ticket_key = f"local:{secrets.token_hex(32)}"
        self.processes: dict[str, subprocess.Popen] = {}
        self.executor_flight: dict[str, str] = {}
        self.executor_grpc: dict[str, str] = {}
        self.executor_http: dict[str, str] = {}

    @property
    def url(self) -> str:
        """What spark.comet.nativeExecutors.scheduler.url is set to."""
        return f"{'grpc+tls' if self._security else 'grpc'}://{self.flight}"

    @property
    def conf(self) -> dict:
        """What a driver is given beside the URL, by which it is let in; nothing where the pool is not secured."""
        return self.security.driver_conf() if self.security else {}

    def _spawn(self, name: str, binary: str, env: dict) -> None:
        log = open(self.state / f"{name}.log", "ab")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("CNE_") and not k.startswith("AWS_")}
        self.processes[name] = subprocess.Popen(
            [str(paths.binary(binary))], env=inherited | env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            cwd=self.state, start_new_session=True, preexec_fn=None if self.stays else die_with_parent)
        log.close()
        self._save()

    def _save(self) -> None:
        pids = {n: [p.pid, _start_time(p.pid)] for n, p in self.processes.items()}
        text = json.dumps({"url": self.url, "flight": self.flight, "executors": self.executor_flight, "pids": pids, "conf": self.conf,
                           "count": self.count}, indent=1)
        part = self.state / "pool.json.part"
        part.write_text(text)
        part.rename(self.state / "pool.json")

    def start_scheduler(self) -> None:
        """Starts the scheduler process (on the same ports when it is started again)."""
        self._spawn("scheduler", "comet-scheduler", {
            "CNE_SCHEDULER_FLIGHT_ADDRESS": self.flight, "CNE_SCHEDULER_EXECUTOR_ADDRESS": self.internal,
            "CNE_SCHEDULER_HTTP_ADDRESS": self.http, "CNE_SCALER_ADDRESS": self.scaler, "CNE_TICKET_KEY": self.ticket_key, "CNE_FILE_ROOTS": ",".join(self.roots),
            # The cases are more queries than a pool keeps by default at one time.
            "CNE_MAX_QUERIES": "20000"} | (self.security.env("scheduler") if self.security else {}) | self.scheduler_env)

    def start_executor(self, name: str, work: Path | None = None) -> None:
        """Starts one executor with a fresh work directory, or in `work`; all executors share one storage."""
        if work is None:
            work = self.state / f"{name}-work"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
        storage = self.storage_url
        if not storage:
            directory = self.state / "storage"
            directory.mkdir(exist_ok=True)
            storage = directory.as_uri()
        self.executor_flight[name] = f"127.0.0.1:{free_port()}"
        self.executor_grpc[name] = f"127.0.0.1:{free_port()}"
        self.executor_http[name] = f"127.0.0.1:{free_port()}"
        env = {
            "CNE_EXECUTOR_FLIGHT_ADDRESS": self.executor_flight[name], "CNE_EXECUTOR_GRPC_ADDRESS": self.executor_grpc[name],
            "CNE_EXECUTOR_HTTP_ADDRESS": self.executor_http[name], "CNE_SCHEDULER_ADDRESS": self.internal, "CNE_STORAGE_URL": storage,
            "CNE_FILE_ROOTS": ",".join(self.roots), "CNE_TASK_SLOTS": str(self.slots), "CNE_WORK_DIR": str(work),
            "CNE_TICKET_KEY": self.ticket_key, "CNE_HOST": "127.0.0.1"}
        if self.security:
            env |= self.security.env("executor")
        if self.memory_bytes:
            env["CNE_MEMORY_BYTES"] = str(self.memory_bytes)
        more = self.executor_env(name) if callable(self.executor_env) else self.executor_env
        self._spawn(name, "comet-executor", env | more)

    def start(self) -> "Pool":
        """Starts everything and waits until the scheduler counts all executors."""
        shutil.rmtree(self.state, ignore_errors=True)
        self.state.mkdir(parents=True)
        self.security = self._security(self.state / "security") if callable(self._security) else self._security
        try:
            self.start_scheduler()
            for i in range(1, self.count + 1):
                self.start_executor(f"executor-{i}")
            self.wait_healthy()
        except BaseException:
            self.stop()
            raise
        return self

    def health(self) -> dict:
        """The scheduler's own report."""
        return action(self.flight, "comet.health", security=self.security)

    def executor_health(self) -> dict[str, dict]:
        """Every live executor's own report, by process name."""
        return {n: action(a, "comet.health", security=self.security) for n, a in self.executor_flight.items() if n in self.processes}

    def query_list(self) -> list[dict]:
        """The scheduler's list of queries."""
        answer = action(self.flight, "comet.queries", security=self.security)
        return answer["queries"] if isinstance(answer, dict) else answer

    def wait_healthy(self, seconds: float | None = None) -> None:
        """Waits until every executor process is registered at the scheduler; a process that ended meanwhile is an error."""
        from pyarrow import ArrowException

        want = set(self.executor_flight.values())
        end, last = time.monotonic() + (seconds or HEALTH_SECONDS), "no answer yet"
        while True:
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise RuntimeError(f"{name} ended with {process.returncode}:\n{self.log_tail(name)}")
            try:
                last = self.health()
                # One that was killed may stay in the list for a while.
                if want <= {e["flight"].split("//")[-1] for e in last["executors"]}:
                    return
            except (OSError, ValueError, ArrowException) as e:
                last = str(e)
            if time.monotonic() > end:
                raise RuntimeError(f"the pool has not all executors {sorted(want)}: {last}\n{self.log_tail('scheduler')}")
            time.sleep(0.05)

    def log_tail(self, name: str, lines: int = 25) -> str:
        """The end of a process's log."""
        file = self.state / f"{name}.log"
        return "\n".join(file.read_text(errors="replace").splitlines()[-lines:]) if file.exists() else ""

    def kill(self, name: str, how: int = signal.SIGKILL) -> None:
        """Kills one process and waits for its end."""
        process = self.processes.pop(name)
        process.send_signal(how)
        process.wait(20)
        self._save()

    def signal(self, name: str, how: int) -> None:
        """Sends a signal and does not wait: SIGSTOP, SIGCONT, or SIGTERM for a drain."""
        self.processes[name].send_signal(how)

    def ended(self, name: str, seconds: float) -> int | None:
        """Waits for a process to end and takes it out of the pool: its exit code, or None when it has not ended."""
        try:
            code = self.processes[name].wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        self.processes.pop(name)
        self._save()
        return code

    def restart_scheduler(self) -> None:
        """kill -9 of the scheduler and a new one on the same ports; executors stay."""
        self.kill("scheduler")
        self.start_scheduler()

    def drain(self, name: str, signalled: bool = False, seconds: float = 130) -> tuple[int, float]:
        """Sends SIGTERM unless it was sent already and waits for the end: exit code, and how long it took."""
        process, start = self.processes.pop(name), time.monotonic()
        if not signalled:
            process.send_signal(signal.SIGTERM)
        code = process.wait(seconds)
        self._save()
        return code, time.monotonic() - start

    def stop(self) -> None:
        """Ends all processes: first politely, then for certain."""
        for process in self.processes.values():
            if process.poll() is None:
                process.terminate()
        end = time.monotonic() + 5
        for process in self.processes.values():
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()

    def __enter__(self) -> "Pool":
        return self.start()

    def __exit__(self, *_) -> None:
        self.stop()


def temporary(**options) -> Pool:
    """A pool with a state folder of its own below the cache; old ones whose owner is gone are removed."""
    base = paths.CACHE / "run"
    base.mkdir(parents=True, exist_ok=True)
    for old in base.glob("pool-*"):
        owner = int(old.name.split("-")[1])
        if _start_time(owner) is None:
            shutil.rmtree(old, ignore_errors=True)
    return Pool(Path(tempfile.mkdtemp(prefix=f"pool-{os.getpid()}-", dir=base)) / "p", **options)


def interruptible() -> None:
    """Makes SIGTERM end this process like Ctrl-C does, through the `with` blocks that stop the pool."""
    def leave(*_):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, leave)


def standing() -> dict | None:
    """The pool that `up` left, when its scheduler lives."""
    try:
        info = json.loads((STANDING / "pool.json").read_text())
    except FileNotFoundError:
        return None
    info["live"] = {n: pid for n, (pid, started) in info["pids"].items() if started and _start_time(pid) == started}
    return info


def down() -> bool:
    """Ends the standing pool; says whether there was anything to end."""
    info = standing()
    if not info or not info["live"]:
        return False
    for how, seconds in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        for pid in standing()["live"].values():
            os.kill(pid, how)
        end = time.monotonic() + seconds
        while standing()["live"] and time.monotonic() < end:
            time.sleep(0.05)
    return True


def main() -> int:
    """Command line of the standing pool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["up", "down", "status"])
    parser.add_argument("--executors", type=int, default=2)
    parser.add_argument("--slots", type=int, default=2, help="task slots of each executor")
    parser.add_argument("--root", action="append", help="folder below which executors may read file: paths (repeatable)")
    parser.add_argument("--tls", action="store_true", help="mutual TLS; drivers need a token")
    args = parser.parse_args()
    if args.command == "down":
        print("stopped" if down() else "no pool was running")
        return 0
    info = standing()
    if args.command == "up":
        if info and "scheduler" in info["live"]:
            print(f"already running: {info['url']}")
            return 0
        down()
        roots = [os.path.abspath(r) for r in args.root] if args.root else None
        pool = Pool(STANDING, args.executors, args.slots, stays=True, roots=roots, security=Security if args.tls else None).start()
        print(f"pool: {pool.url}, {args.executors} executors; logs in {STANDING}")
        return 0
    if not info or "scheduler" not in info["live"]:
        print("no pool is running")
        return 1
    secured = bool(info.get("conf"))
    print(f"scheduler {info['url']} pid {info['live']['scheduler']}")
    if not secured:
        print("  " + json.dumps(action(info["flight"], "comet.health")))
    for name, address in info["executors"].items():
        if name not in info["live"]:
            print(f"{name} is dead: see {STANDING / name}.log")
            continue
        print(f"{name} {address} pid {info['live'][name]}")
        if not secured:
            print("  " + json.dumps(action(address, "comet.health")))
    if secured:
        print("drivers need: " + " ".join(f"--conf {key}={value}" for key, value in info["conf"].items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
