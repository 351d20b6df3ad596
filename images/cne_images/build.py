"""Builds the images and says how large they are.

    python -m cne_images.build [--profile release|debug] [NAME ...]     # comet-scheduler comet-executor driver s3; without names: all
    python -m cne_images.build --variables                              # what `docker buildx bake` needs in its environment

`release` compiles in a container of the build base, with no network, and keeps what it compiled below $CNE_CACHE/images/target. `debug` takes the binaries
that `tools/build-binaries` left and the C library of this machine: for tests. Binaries, layers, archives for `docker load` and bills of materials are
left in $CNE_CACHE/images/<profile>.
"""
import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cne_e2e import paths, s3

from . import bases, engine, pins, sbom

# Stages of the Dockerfile, by the image's name.
STAGES = {"comet-scheduler": "scheduler", "comet-executor": "executor", "comet-driver": "driver", "comet-s3": "s3"}
MEGABYTE = 1_000_000


@dataclass
class Image:
    """An image that the engine has."""

    name: str
    tag: str
    # SHA-256 of its layers, from the lowest.
    layers: list[str]


def folder(profile: str) -> Path:
    """Where binaries, layers and bills of materials of a profile are."""
    return pins.CACHE / profile


def compile_release(out: Path, source: Path = paths.ROOT, inside: str = "/src", target: Path | None = None) -> None:
    """Compiles and packs `out/bin` and `out/layers` in a container of the build base. `inside` is where the container sees the checkout."""
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], check=True, stdout=subprocess.PIPE, text=True, cwd=source).stdout.strip()
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    subprocess.run(["cargo", "fetch", "--locked", "--quiet", "--target", f"{os.uname().machine}-unknown-linux-gnu"], check=True, cwd=source)
    target = target or pins.CACHE / "target"
    for directory in (out, target):
        directory.mkdir(parents=True, exist_ok=True)
    mounts = {str(source): f"{inside}:ro", sysroot: "/rust:ro", str(home / "registry"): "/root/.cargo/registry", str(target): "/target", str(out): "/out"}
    if (home / "config.toml").exists():
        mounts[str(home / "config.toml")] = "/root/.cargo/config.toml:ro"
    variables = {"PATH": "/rust/bin:/usr/bin:/bin", "HOME": "/tmp", "SRC": inside, "SOURCE_DATE_EPOCH": pins.epoch(), "OFFLINE": "1"}
    command = f"nice -n 5 {inside}/images/compile /out/bin && {inside}/images/rootfs /out/bin /out/layers {' '.join(pins.PROGRAMS)}"
    print("== release build in a container (dependencies: about an hour of one core the first time)", file=sys.stderr, flush=True)
    subprocess.run(["docker", "run", "--rm", "--init", "--network", "none", "--user", f"{os.getuid()}:{os.getgid()}",
                    *(f"--volume={a}:{b}" for a, b in mounts.items()), *(f"--env={k}={v}" for k, v in variables.items()),
                    bases.base("build"), "sh", "-c", command], check=True, stdout=sys.stderr)


def pack_debug(out: Path) -> None:
    """The same of the debug binaries, without their debug information."""
    shutil.rmtree(out / "bin", ignore_errors=True)
    (out / "bin").mkdir(parents=True)
    for program in pins.PROGRAMS:
        built = paths.TARGET / "debug" / program
        if not built.exists():
            raise SystemExit(f"error: {built} is missing: run `tools/build-binaries`")
        subprocess.run(["strip", "-o", str(out / "bin" / program), str(built)], check=True)
    _rootfs(out, *pins.PROGRAMS)


def _rootfs(out: Path, *programs: str) -> None:
    subprocess.run([str(pins.SOURCE / "rootfs"), str(out / "bin"), str(out / "layers"), *programs], check=True,
                   env=os.environ | {"SOURCE_DATE_EPOCH": pins.epoch()})


def pack_s3(out: Path) -> None:
    """The S3 server of the demo, which this machine has built: its layers."""
    subprocess.run([str(paths.ROOT / "tools" / "setup"), "versitygw"], check=True)
    (out / "bin").mkdir(parents=True, exist_ok=True)
    shutil.copy(s3.binary("versitygw"), out / "bin" / "versitygw")
    _rootfs(out, "versitygw")
    with tarfile.open(out / "layers" / "versitygw.tar", "a", format=tarfile.GNU_FORMAT) as tar:
        # A directory is a bucket.
        for name in ("work/data", "work/data/pool"):
            tar.addfile(_directory(name))


def pack_driver(out: Path) -> list[Path]:
    """The layer of the driver: its jars and Spark's settings. Returns the jars."""
    jars = [paths.COMET_JAR, paths.driver_jar()]
    names = ["comet-spark.jar", "comet-native-executors-driver.jar"]
    layer = out / "layers" / "driver.tar"
    layer.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as root, tarfile.open(layer, "w", format=tarfile.GNU_FORMAT) as tar:
        for name, jar in zip(names, jars):
            _add(tar, jar, f"opt/comet/{name}")
        settings = Path(root) / "spark-defaults.conf"
        settings.write_text((pins.SOURCE / "spark-defaults.conf").read_text())
        _add(tar, settings, "opt/spark/conf/spark-defaults.conf")
        tar.addfile(_directory("work"))
    return jars


def _directory(name: str) -> tarfile.TarInfo:
    """A directory of the containers' user."""
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.mtime = tarfile.DIRTYPE, 0o755, int(pins.epoch())
    info.uid = info.gid = int(pins.pins()["UID_GID"])
    return info


def _add(tar: tarfile.TarFile, file: Path, name: str) -> None:
    """A file with the time of the commit, owned by root."""
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = file.stat().st_size, 0o644, int(pins.epoch())
    with open(file, "rb") as f:
        tar.addfile(info, f)


def make(name: str, profile: str, layers: Path | None = None, cached: bool = True) -> Image:
    """One image out of the layers of a profile, or of those in a folder."""
    tag = pins.tag(name, profile)
    arguments = {"BINARIES": "prebuilt", "VERSION": pins.version(), "REVISION": pins.revision(), "CREATED": pins.created()}
    if name == "comet-driver":
        arguments["DRIVER_BASE"] = bases.base("driver")
    again = [] if cached else ["--no-cache"]
    done = subprocess.run([*engine.builder(), "build", *again, "--quiet", "--network", "none", "--file", str(pins.SOURCE / "Dockerfile"), "--target", STAGES[name],
                           "--tag", tag, *(f"--build-arg={k}={v}" for k, v in arguments.items()), str(layers or folder(profile) / "layers")],
                          env=os.environ | {"DOCKER_BUILDKIT": "1"}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"docker build of {name} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return Image(name, tag, json.loads(engine.docker("image", "inspect", tag).stdout)[0]["RootFS"]["Layers"])


class _Count:
    """Counts what is written to it."""

    def __init__(self):
        self.bytes = 0

    def write(self, data: bytes) -> int:
        self.bytes += len(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is kept."""


def measure(tag: str) -> tuple[int, int]:
    """Bytes of an image's layers, and of the same compressed as registries keep them."""
    counted, compressed = 0, _Count()
    save = subprocess.Popen(["docker", "save", tag], stdout=subprocess.PIPE)
    with tarfile.open(fileobj=save.stdout, mode="r|") as archive, gzip.GzipFile(fileobj=compressed, mode="wb", compresslevel=6) as out:
        for member in archive:
            if member.name.endswith("layer.tar") and member.isreg():
                counted += member.size
                shutil.copyfileobj(archive.extractfile(member), out)
    if save.wait():
        raise RuntimeError(f"docker save {tag} ended with {save.returncode}")
    return counted, compressed.bytes


def write_archive(image: Image, out: Path) -> Path:
    """The image for `docker load`, compressed."""
    path = out / f"{image.name}.tar.gz"
    with open(path, "wb") as f:
        save = subprocess.Popen(["docker", "save", image.tag], stdout=subprocess.PIPE)
        subprocess.run(["gzip", "-n", "-6"], stdin=save.stdout, stdout=f, check=True)
    if save.wait():
        raise RuntimeError(f"docker save {image.tag} ended with {save.returncode}")
    return path


def build(names: list[str], profile: str) -> list[Image]:
    """Builds images and their bills of materials."""
    out = folder(profile)
    programs = [name for name in names if name in pins.PROGRAMS]
    if programs:
        pack_debug(out) if profile == "debug" else compile_release(out)
    if "comet-s3" in names:
        pack_s3(out)
    jars = pack_driver(out) if "comet-driver" in names else []
    images = []
    for name in names:
        image = make(name, profile)
        sbom.write(_bom(image, out, jars), out / f"{name}.cdx.json")
        images.append(image)
    return images


def _bom(image: Image, out: Path, jars: list[Path]) -> sbom.Bom:
    """What an image is made of."""
    if image.name in pins.PROGRAMS:
        return sbom.of_program(image.name, out)
    if image.name == "comet-driver":
        return sbom.of_driver(image.tag, jars)
    return sbom.of_go(image.name, out / "bin" / "versitygw", out)


def report(images: list[Image]) -> list[str]:
    """Prints the sizes; the images that are above their limit."""
    above = []
    for image in images:
        limit = pins.pins().get(f"{image.name.split('-')[1].upper()}_LIMIT_MB")
        size, compressed = measure(image.tag)
        print(f"{image.tag:<36} {size / MEGABYTE:7.1f} MB, {compressed / MEGABYTE:6.1f} MB compressed" + (f" (at most {limit})" if limit else ""), flush=True)
        if limit and compressed > int(limit) * MEGABYTE:
            above.append(image.name)
    return above


def main() -> int:
    """Builds the images."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="release", choices=["release", "debug"])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(STAGES))
    args = parser.parse_args()
    unknown = set(args.names) - set(STAGES)
    if unknown:
        parser.error(f"no such image: {', '.join(sorted(unknown))}")
    with engine.engine():
        engine.install()
        images = build(args.names or list(STAGES), args.profile)
        above = report(images)
        out = folder(args.profile)
        if args.profile == "release":
            for image in images:
                write_archive(image, out)
    for program in pins.PROGRAMS:
        if program in (args.names or STAGES):
            print(f"sha256 {pins.digest(out / 'bin' / program)}  {program}\nsha256 {pins.digest(out / 'layers' / f'{program}.tar')}  {program}.tar")
    verdict = f"above the limit: {', '.join(above)}" if above else f"{len(images)} built, with bills of materials in {out}"
    print(f"images: {verdict}", flush=True)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
