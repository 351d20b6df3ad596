"""What the images are made of (pins.env), which commit they are of, and where their parts are."""
import functools
import hashlib
import os
import re
import subprocess
import time
from pathlib import Path

from cne_e2e import paths

SOURCE = paths.ROOT / "images"
CACHE = paths.CACHE / "images"
PROGRAMS = ("comet-scheduler", "comet-executor")


@functools.cache
def pins() -> dict[str, str]:
    """The values of pins.env."""
    lines = (SOURCE / "pins.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@functools.cache
def version() -> str:
    """The workspace's version."""
    return re.search(r'^version = "(.+)"', (paths.ROOT / "Cargo.toml").read_text(), re.M).group(1)


def _git(*args: str) -> str:
    return subprocess.run(["git", "-C", str(paths.ROOT), *args], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


@functools.cache
def revision() -> str:
    """The commit; `-dirty` behind it where files differ from it."""
    return _git("rev-parse", "HEAD") + ("-dirty" if _git("status", "--porcelain", "--untracked-files=no") else "")


@functools.cache
def epoch() -> str:
    """SOURCE_DATE_EPOCH: the time of the commit, or what the environment says."""
    return os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct")


def created() -> str:
    """The same, as images have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(epoch())))


def digest(file: Path) -> str:
    """SHA-256 of a file."""
    with open(file, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def name_of_base(kind: str) -> str:
    """Tag of an imported base; another one when a pin that decides it changes."""
    values = pins()
    decides = [values["DEBIAN_SUITE"], values[f"{kind.upper()}_PACKAGES"], values["SPARK_VERSION"] if kind == "driver" else ""]
    return f"cne-{kind}-base:{hashlib.sha256(' '.join(decides).encode()).hexdigest()[:12]}"


def tag(name: str, profile: str) -> str:
    """Name of an image of ours; those of debug binaries are for tests."""
    return f"{name}:{version()}" + ("" if profile == "release" else f"-{profile}")


if __name__ == "__main__":
    # For `docker buildx bake`.
    print(f"VERSION={version()}\nREVISION={revision()}\nCREATED={created()}\nSOURCE_DATE_EPOCH={epoch()}")
