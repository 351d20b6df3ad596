"""Servers of the checks: on loopback, on free ports, and ended with the check that started them."""
import contextlib
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from .roots import Failed


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(url: str) -> bool:
    """Whether an HTTP server answers at all."""
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


@contextlib.contextmanager
def server(command: list, log: Path, ready: Callable[[], bool], seconds: float = 90, env: dict | None = None) -> Iterator[None]:
    """Runs a server until the block ends; raises `Failed` with the end of its log when it does not become ready."""
    with log.open("w") as out:
        process = subprocess.Popen([str(c) for c in command], env=env, stdout=out, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + seconds
        while not ready():
            if process.poll() is not None or time.monotonic() > end:
                tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
                raise Failed(f"{command[0]} did not become ready within {seconds:.0f} s:\n{tail}")
            time.sleep(0.2)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
