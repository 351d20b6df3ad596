"""The kinds of faults: at which moment, what happens, how it is proven."""
import random
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from cne_e2e import pool, s3proxy
from cne_e2e.running import Running

from .harness import FULL_DISK, Undisturbed

KILL, TERM, PAUSE = signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP
_HOW = {"kill": KILL, "term": TERM, "pause": PAUSE}
# Requests by which a moment in the life of a task is known.
_MOMENTS = {"write": ("after", ("PUT data", "POST complete")), "commit": ("", ("PUT commit",)), "fetch": ("before", ("GET data",))}
_S3 = {"500": 4, "503": 4, "slow": 4, "reset": 4, "truncated": 2, "lost": 2}
_WRITES, _READS = ("PUT data", "PUT commit"), ("GET data", "GET commit")

# What may fail when an executor is lost, the scheduler is gone, the store fails or a disk is full. A task that was stopped or could not reach
# the store says so; its stage may have no executor left.
_LOST = {"CNE-2007", "CNE-2008", "CNE-2009", "CNE-3003", "CNE-3005", "CNE-4004", "CNE-5001"}
_SCHEDULER = {"CNE-1014", "CNE-3006", "CNE-5001"}
_STORE = {"CNE-2007", "CNE-2008", "CNE-4004"}
_DISK = {"CNE-2006"}

NAMES = ([f"{how} {moment}" for moment in ("mid-task", "write", "commit", "fetch", "doget") for how in _HOW]
         + ["kill all", "restart scheduler"] + [f"s3 {how}" for how in _S3] + ["disk full"])


# Where executors read from each other, the store is hardly read at all, and small outputs are in their records.
IN_OBJECTS_ONLY = {"s3 truncated"}
DATA_ONLY = {f"{how} {moment}" for moment in ("write", "fetch") for how in _HOW}


def codes(name: str) -> set[str]:
    """Codes that name a cause which fits the fault."""
    if name.startswith("s3"):
        return _STORE
    return {"restart scheduler": _SCHEDULER, "disk full": _DISK}.get(name, _LOST)


@dataclass
class Run:
    """One query with one fault."""

    number: int
    kind: str
    query: str
    mode: str = "store"
    # What was done, to whom and when, in words.
    what: str = ""
    fired: bool = False
    # `right`, `failed-typed`, `hung`, or what is wrong.
    outcome: str = ""
    # The error's text, where the query failed.
    error: str = ""
    reruns: int = 0
    seconds: float = 0


@dataclass
class Injector:
    """Does one fault to one running query. Processes are started by the main thread alone, and end from any."""

    pool: pool.Pool
    proxy: s3proxy.Proxy
    rng: random.Random
    run: Run
    undisturbed: Undisturbed
    query: Running
    # By executor: when it is to go on.
    paused: dict[str, float] = field(default_factory=dict)
    # By executor: when it was paused, and for how long it had been.
    stopped: dict[str, float] = field(default_factory=dict)
    slept: dict[str, float] = field(default_factory=dict)
    # Executors that got SIGTERM.
    drained: set[str] = field(default_factory=set)
    # Executors that were killed: when a successor starts.
    dead: dict[str, float] = field(default_factory=dict)
    disk: "FullDisk | None" = None
    fault: s3proxy.Fault | None = None

    def prepare(self) -> None:
        """Before the query starts: what the proxy will do."""
        first, _, second = self.run.kind.partition(" ")
        if second in _MOMENTS and not self._from_each_other(second):
            how, kinds = _MOMENTS[second]
            self._at_request(how or self.rng.choice(["before", "after"]), kinds, self._strike)
        elif first == "s3":
            self._s3(second)
        elif self.run.kind == "disk full":
            self.disk = FullDisk(self.pool)
            self.run.what = "executor-full with 64 KiB free"

    def inject(self) -> None:
        """While the query runs: what happens to processes."""
        first, _, second = self.run.kind.partition(" ")
        if second == "mid-task" or self._from_each_other(second):
            # What is not read through the proxy is read by the tasks of later stages.
            if self._reach(0 if second == "mid-task" else 0.5):
                self._strike_at(lambda: self._busy("tasks_running"))
        elif second == "doget":
            self._strike_at(lambda: self._busy("results_open"))
        elif self.run.kind == "kill all":
            self._all()
        elif self.run.kind == "restart scheduler":
            self._scheduler()

    def watch(self) -> None:
        """Called again and again while the query runs."""
        now = time.monotonic()
        for name in [n for n, at in self.paused.items() if now >= at]:
            self.resume(name)
        for name in [n for n, at in self.dead.items() if now >= at]:
            del self.dead[name]
            self.pool.start_executor(name)
        for name, process in list(self.pool.processes.items()):
            # One that was taken for lost ends when it hears of it, and a supervisor starts another one. Whoever got SIGTERM is looked at later.
            if name not in self.drained and name.startswith("executor-") and process.poll() == 0:
                self.pool.ended(name, 1)
                self.pool.start_executor(name)
        if self.disk and not self.run.fired:
            self.run.fired = self.disk.was_full()

    def resume(self, name: str) -> None:
        """SIGCONT."""
        del self.paused[name]
        self.pool.signal(name, signal.SIGCONT)
        self.slept[name] = time.monotonic() - self.stopped[name]
        self.run.what += ", goes on"

    def proof_of_s3(self, fault: s3proxy.Fault) -> None:
        """What the proxy did."""
        if fault.fired:
            self.run.fired = True
            self.run.what = f"{len(fault.fired)} x {fault.how} to {fault.fired[0].kind} of {fault.fired[0].client}"

    # -- moments

    def _at_request(self, how: str, kinds: tuple, hook) -> None:
        count = sum(self.undisturbed.requests[k] for k in kinds)
        # Which executor does what differs from run to run, and so does a little how much: the last ones may not come.
        skip = self.rng.randrange(max(1, count // 2))
        goes_on = self.rng.random() < 0.5

        def strike(request: s3proxy.Request) -> bool | None:
            if not self.query.is_alive():
                return None
            hook(request.client, f"{how} its {request.kind}, number {skip + 1} of all")
            # A killed process may have sent what it sent, or not all of it.
            return None if goes_on or request.client in self.paused or request.client in self.drained else False

        self.proxy.arm(s3proxy.Fault(how, lambda r: r.kind in kinds and self._ours(r), skip=skip, hook=strike))

    def _ours(self, request: s3proxy.Request) -> bool:
        # What an earlier query left to be done is not a moment of this one.
        return request.time >= self.query.started > 0

    def _from_each_other(self, moment: str) -> bool:
        return moment == "fetch" and not self.undisturbed.requests["GET data"]

    def _reach(self, least: float = 0) -> bool:
        """Waits for a random point after this part of the query's tasks."""
        tasks, seconds = self.undisturbed.tasks, self.undisturbed.seconds
        # The last ones may be over before anybody looks.
        first = int(tasks * least)
        point = self.rng.randrange(first, max(first + 1, tasks * 4 // 5))
        return self.query.reach(point, self.rng.random() * seconds / max(1, tasks) if point < tasks - 1 else 0)

    def _busy(self, what: str) -> str | None:
        """An executor that does something now."""
        from pyarrow import ArrowException

        names = list(self.pool.executor_flight)
        self.rng.shuffle(names)
        for name in names:
            try:
                if pool.action(self.pool.executor_flight[name], "comet.health")[what]:
                    return name
            except ArrowException:
                pass  # it is just not there
        return None

    def _strike_at(self, moment) -> None:
        while self.query.is_alive():
            victim = moment()
            if victim:
                self._strike(victim, "while it worked for the query")
                return
            time.sleep(0.001)

    # -- what happens

    def _strike(self, victim: str, when: str) -> None:
        how = self.run.kind.split()[0]
        if victim not in self.pool.processes or self.run.what:
            return
        process = self.pool.processes[victim]
        if how == "kill":
            self.pool.kill(victim)
            done = process.returncode == -KILL
            # Sometimes a successor is there at once, sometimes the other executor is alone.
            self.dead[victim] = time.monotonic() + self.rng.choice([0.2, 1, 3600])
        else:
            self.pool.signal(victim, _HOW[how])
            if how == "term":
                self.drained.add(victim)
                done = True
            else:
                # Mostly for longer than it takes to be taken for lost.
                self.stopped[victim] = time.monotonic()
                self.paused[victim] = self.stopped[victim] + self.rng.choice([1, 6, 6, 8])
                done = _stopped(process.pid)
        # The query was not over: its rows were not all at the client.
        self.run.fired = done and self.query.is_alive()
        self.run.what = f"{how} {victim} {when}, {time.time() - self.query.started:.2f} s after the start"

    def _all(self) -> None:
        if not (self._reach() and self._busy("tasks_running")):
            return
        names = [n for n in self.pool.processes if n != "scheduler"]
        for name in names:
            self.pool.signal(name, KILL)
        codes = [self.pool.ended(name, 20) for name in names]
        self.run.fired = codes == [-KILL] * len(names) and self.query.is_alive()
        pause = self.rng.choice([0, 1, 5])
        self.dead |= {name: time.monotonic() + pause for name in names}
        self.run.what = f"kill of {', '.join(names)} at once, successors {pause} s later"

    def _scheduler(self) -> None:
        if not self._reach():
            return
        process = self.pool.processes["scheduler"]
        self.pool.kill("scheduler")
        self.run.fired = process.returncode == -KILL and self.query.is_alive()
        pause = self.rng.choice([0, 1, 3])
        time.sleep(pause)
        self.pool.start_scheduler()
        self.run.what = f"kill of the scheduler, started again {pause} s later"

    def _s3(self, how: str) -> None:
        kinds = {"truncated": _READS, "lost": _WRITES}.get(how, _WRITES + _READS)
        kinds = [k for k in kinds if self.undisturbed.requests[k]]
        if not kinds:
            return
        kind = self.rng.choice(kinds)
        skip = self.rng.randrange(max(1, self.undisturbed.requests[kind] // 2))
        fault = s3proxy.Fault(how, lambda r: r.kind == kind and self._ours(r), skip=skip, times=self.rng.randint(1, _S3[how]),
                              seconds=self.rng.uniform(0.5, 5))
        self.fault = self.proxy.arm(fault)


class FullDisk:
    """An executor more, with little memory and a work directory on a small file system that has no room."""

    NAME = FULL_DISK
    ROOM = 64 * 1024

    def __init__(self, p: pool.Pool):
        self.pool = p
        self.mount = p.state / "small"
        mount(self.mount, 2 * 1024 * 1024)
        self.log = p.state / f"{self.NAME}.log"
        self.before = self.log.stat().st_size if self.log.exists() else 0
        p.start_executor(self.NAME, work=self.mount)
        p.wait_healthy(30)
        usage = shutil.disk_usage(self.mount)
        with open(self.mount / "filler", "wb") as f:
            f.write(b"\0" * max(0, usage.free - self.ROOM))

    def was_full(self) -> bool:
        """Whether the executor ran into it: only then does it say so."""
        if not self.log.exists():
            return False
        with open(self.log, "rb") as f:
            f.seek(self.before)
            text = f.read()
        return b"No space left" in text or b"os error 28" in text or b"cannot be kept on the executor's disk" in text

    def end(self) -> None:
        """Takes the executor and the file system away."""
        if self.NAME in self.pool.processes:
            self.pool.kill(self.NAME)
        self.pool.executor_flight.pop(self.NAME, None)
        subprocess.run(["umount", "--lazy", str(self.mount)], check=False)


def mount(at: Path, size: int) -> None:
    """A file system in memory; an OSError where that is not allowed."""
    at.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(at)], capture_output=True, text=True)
    if done.returncode:
        raise OSError(done.stderr.strip())


def disks_can_be_full(folder: Path) -> str | None:
    """None, or why no small file system can be made here."""
    try:
        mount(folder / "try", 1024 * 1024)
    except OSError as e:
        return str(e)
    subprocess.run(["umount", str(folder / "try")], check=True)
    return None


def _stopped(pid: int) -> bool:
    end = time.monotonic() + 2
    while time.monotonic() < end:
        if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T":
            return True
        time.sleep(0.001)
    return False
