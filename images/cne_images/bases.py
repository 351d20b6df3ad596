"""Bases of the build stage and of the driver, imported from Debian's bootstrap: nothing is pulled from a registry of images."""
import subprocess
import sys
from pathlib import Path

from cne_e2e import paths

from . import engine, pins


def _sites() -> Path:
    """PySpark's package, which is a whole Spark, in the environment of the tests."""
    found = list((paths.CACHE / "venv" / "lib").glob("python3*/site-packages/pyspark"))
    if not found:
        raise SystemExit("error: PySpark is not there: run `tools/setup`")
    return found[0]


def _bootstrap(kind: str, root: Path) -> None:
    values = pins.pins()
    print(f"== Debian {values['DEBIAN_SUITE']} for {kind} (a minute or two)", file=sys.stderr, flush=True)
    log = root.with_suffix(".log")
    with open(log, "wb") as out:
        done = subprocess.run([*engine.sudo(), "debootstrap", "--variant=minbase", f"--include={values[f'{kind.upper()}_PACKAGES']}",
                               values["DEBIAN_SUITE"], str(root)], stdout=out, stderr=out)
    if done.returncode:
        raise SystemExit(f"error: debootstrap ended with {done.returncode}: see {log}\n" + "\n".join(log.read_text().splitlines()[-10:]))


def base(kind: str) -> str:
    """The tag of the base `build` or `driver`, which is made when the engine does not have it."""
    tag = pins.name_of_base(kind)
    if engine.docker("image", "inspect", tag, check=False).returncode == 0:
        return tag
    pins.CACHE.mkdir(parents=True, exist_ok=True)
    root = pins.CACHE / f"{kind}.part"
    subprocess.run([*engine.sudo(), "rm", "-rf", str(root)], check=True)
    _bootstrap(kind, root)
    _finish(kind, root)
    print(f"== importing {tag}", file=sys.stderr, flush=True)
    pack = subprocess.Popen([*engine.sudo(), "tar", "-C", str(root), "--numeric-owner", "-c", "."], stdout=subprocess.PIPE)
    subprocess.run(["docker", "import", "-", tag], stdin=pack.stdout, stdout=subprocess.DEVNULL, check=True)
    if pack.wait():
        raise SystemExit(f"error: tar ended with {pack.returncode}")
    subprocess.run([*engine.sudo(), "rm", "-rf", str(root)], check=True)
    return tag


def _finish(kind: str, root: Path) -> None:
    """What packages leave and nobody needs goes; cargo's home, or Spark, comes."""
    run = [*engine.sudo()]
    subprocess.run([*run, "sh", "-c", f"rm -rf '{root}'/var/cache/apt/* '{root}'/var/lib/apt/lists/* '{root}'/dev/* '{root}'/proc/* '{root}'/sys/*"], check=True)
    if kind == "build":
        # For any user: the compiler does not run as root.
        subprocess.run([*run, "install", "-d", "-m", "755", f"{root}/root"], check=True)
        subprocess.run([*run, "install", "-d", "-m", "1777", f"{root}/root/.cargo"], check=True)
    else:
        subprocess.run([*run, "mkdir", "-p", f"{root}/opt/spark"], check=True)
        # The Python package itself is in python/lib too.
        parts = [str(_sites() / part) for part in ("bin", "sbin", "jars", "python", "licenses")]
        subprocess.run([*run, "cp", "-rL", *parts, f"{root}/opt/spark"], check=True)
        subprocess.run([*run, "find", f"{root}/opt/spark", "-name", "__pycache__", "-prune", "-exec", "rm", "-rf", "{}", "+"], check=True)
