"""The container engine: the one that the user runs, or one of ours with its own data below $CNE_CACHE, which ends with its last user.

    python -m cne_images.engine run COMMAND ...     # runs the command with DOCKER_HOST set to an engine
"""
import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from cne_e2e import paths

HOME = paths.CACHE / "engine"
SOCKET = f"unix://{HOME}/docker.sock"
PACKAGES = {"dockerd": "docker.io", "iptables": "iptables", "debootstrap": "debootstrap", "docker-compose": "docker-compose"}
START_SECONDS = 60


class EngineError(SystemExit):
    """Containers cannot be run here; the text says what to do."""


def sudo() -> list[str]:
    """What a command that needs root begins with."""
    return [] if os.geteuid() == 0 else ["sudo"]


def install() -> None:
    """Installs what is missing of the engine, Debian's bootstrap and compose. Needs Debian's or Ubuntu's apt, and root or sudo."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    missing = [package for program, package in PACKAGES.items() if not shutil.which(program, path=path)]
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise EngineError(f"error: {', '.join(missing)} are missing and there is no apt-get here: install them, or run a Docker engine")
    print(f"== installing {' '.join(missing)}", file=sys.stderr, flush=True)
    subprocess.run([*sudo(), "apt-get", "update", "-qq"], check=True, stdout=sys.stderr)
    subprocess.run([*sudo(), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing],
                   check=True, stdout=subprocess.DEVNULL)


def answers(host: str | None) -> bool:
    """Whether an engine answers there (`None`: where the environment says)."""
    env = os.environ | ({"DOCKER_HOST": host} if host else {})
    return bool(shutil.which("docker")) and subprocess.run(["docker", "version", "--format", "{{.Server.Version}}"], env=env,
                                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def builder() -> list[str]:
    """A client that builds with BuildKit: any with the buildx plugin, or Debian's, which has it built in."""
    for client in ("docker", "/usr/bin/docker"):
        found = shutil.which(client)
        if not found:
            continue
        # Until version 23 the client has BuildKit itself; later ones need the plugin.
        version = subprocess.run([found, "version", "--format", "{{.Client.Version}}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        plugin = subprocess.run([found, "buildx", "version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
        if plugin or int(version.split(".")[0] or 99) < 23:
            return [found]
    raise EngineError("error: no docker client here can build with BuildKit: install the buildx plugin, or Debian's docker.io")


def docker(*args: str, check: bool = True, **options) -> subprocess.CompletedProcess:
    """One call of the client; its output as text. A failure is an error with what the client said."""
    done = subprocess.run(["docker", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if check and done.returncode:
        raise RuntimeError(f"docker {' '.join(args)} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done


def _start() -> subprocess.Popen:
    if not shutil.which("dockerd", path=os.environ.get("PATH", "") + ":/usr/sbin"):
        install()
    # No bridge of its own: every network is one that a recipe makes, with a subnet that it names.
    command = [*sudo(), "dockerd", "--data-root", str(HOME / "data"), "--exec-root", str(HOME / "exec"), "--pidfile", str(HOME / "docker.pid"),
               "--bridge", "none", "--group", str(os.getgid()), "-H", SOCKET]
    with open(HOME / "dockerd.log", "ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                   env=os.environ | {"PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"})
    end = time.monotonic() + START_SECONDS
    while not answers(SOCKET):
        if process.poll() is not None or time.monotonic() > end:
            tail = "\n".join((HOME / "dockerd.log").read_text(errors="replace").splitlines()[-15:])
            process.terminate()
            raise EngineError(f"error: the container engine does not start here (it needs root, iptables and control groups):\n{tail}")
        time.sleep(0.2)
    return process


def _stop() -> None:
    pid = (HOME / "docker.pid").read_text().strip() if (HOME / "docker.pid").exists() else ""
    if not pid:
        return
    subprocess.run([*sudo(), "kill", pid], check=False)
    end = time.monotonic() + START_SECONDS
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.1)


@contextlib.contextmanager
def engine():
    """Sets DOCKER_HOST to an engine for the block. One that was started for it is stopped by the last block that uses it, also of other
    processes; the user's own is left alone."""
    if answers(None):
        yield
        return
    HOME.mkdir(parents=True, exist_ok=True)
    with open(HOME / ".lock", "a") as door, open(HOME / ".users", "a") as users:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(users, fcntl.LOCK_SH)
        if not answers(SOCKET):
            _start()
        fcntl.flock(door, fcntl.LOCK_UN)
        before = os.environ.get("DOCKER_HOST")
        os.environ["DOCKER_HOST"] = SOCKET
        try:
            yield
        finally:
            os.environ.pop("DOCKER_HOST")
            if before:
                os.environ["DOCKER_HOST"] = before
            fcntl.flock(door, fcntl.LOCK_EX)
            with contextlib.suppress(BlockingIOError):
                # Exclusive: nobody else uses it.
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _stop()


def main() -> int:
    """Runs a command beside an engine."""
    if len(sys.argv) < 3 or sys.argv[1] != "run":
        raise SystemExit(__doc__)
    with engine():
        return subprocess.call(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
