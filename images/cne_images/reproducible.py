"""Builds twice, from two checkouts at different paths, and compares: equal binaries, equal layers, equal images' layers.

    python -m cne_images.reproducible            # the crates of this workspace, on the dependencies that `just images` has compiled
    python -m cne_images.reproducible --whole    # everything, twice from nothing: about two hours of two cores
"""
import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from cne_e2e import paths

from . import build, engine, pins

ELSEWHERE = "/elsewhere/comet"
# File names of what cargo makes of the crates of this workspace.
OWN = ("*cne*", "*comet*", "*workspace_features*", "*workspace-features*")


def checkout(to: Path) -> None:
    """The tracked files at another place, with other times."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=paths.ROOT, check=True, stdout=subprocess.PIPE).stdout
    pack = subprocess.Popen(["tar", "--null", "--files-from", "-", "-c"], cwd=paths.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    unpack = subprocess.Popen(["tar", "-C", str(to), "-x", "--touch"], stdin=pack.stdout)
    pack.stdin.write(listed)
    pack.stdin.close()
    if pack.wait() or unpack.wait():
        raise RuntimeError("the checkout could not be copied")


def dependencies(of: Path, to: Path) -> None:
    """A build folder that has the dependencies of another one (the same files), and nothing of this workspace."""
    shutil.rmtree(to, ignore_errors=True)
    subprocess.run(["cp", "-al", str(of), str(to)], check=True)
    names = [argument for name in OWN for argument in ("-o", "-name", name)][1:]
    subprocess.run(["find", str(to), "-depth", "(", *names, ")", "-exec", "rm", "-rf", "{}", "+"], check=True)


def differences(one: Path, other: Path) -> list[str]:
    """Names of binaries and layers that differ; prints the digests."""
    found = []
    for file in sorted(p.relative_to(one) for folder in ("bin", "layers") for p in (one / folder).glob("comet-*")) + [Path("layers/base.tar")]:
        first, second = pins.digest(one / file), pins.digest(other / file)
        print(f"{first}  {file}" + ("" if first == second else f"\n{second}  {file} of the second build: DIFFERENT"), flush=True)
        if first != second:
            found.append(str(file))
    for name in pins.PROGRAMS:
        layers = [build.make(name, "release", folder / "layers", cached=False).layers for folder in (one, other)]
        if layers[0] != layers[1]:
            print(f"layers of the image {name} differ: {layers}", flush=True)
            found.append(f"image {name}")
    return found


def main() -> int:
    """Builds twice and compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--whole", action="store_true", help="also the dependencies, from nothing")
    args = parser.parse_args()
    work = pins.CACHE / "twice"
    source, first, second = work / "source", work / "first", work / "second"
    with engine.engine():
        engine.install()
        try:
            checkout(source)
            for out in (first, second):
                shutil.rmtree(out, ignore_errors=True)
            own = work / "target-first" if args.whole else None
            if own:
                shutil.rmtree(own, ignore_errors=True)
            build.compile_release(first, target=own)
            target = work / "target-second"
            if args.whole:
                shutil.rmtree(own)
                shutil.rmtree(target, ignore_errors=True)
            else:
                dependencies(pins.CACHE / "target", target)
            build.compile_release(second, source, ELSEWHERE, target)
            different = differences(first, second)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    what = "everything" if args.whole else "the workspace"
    verdict = f"DIFFERENT: {', '.join(different)}" if different else f"{what} built twice, at /src and {ELSEWHERE}: binaries and layers are equal"
    print(f"images-reproducible: {verdict}", flush=True)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
