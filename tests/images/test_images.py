"""The images of scheduler and executor, FROM scratch out of the debug binaries: what is in them, and how they run in a tight container."""
import io
import json
import re
import secrets
import subprocess
import tarfile
import time
import uuid
from pathlib import Path, PurePath

import pytest

from cne_e2e import paths
from cne_images import build, engine, pins
from cne_images.engine import docker

MIB = 1 << 20
# How docs/images.md says that containers are run.
HARDENED = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", "512", "--network", "none")
KEY = f"test:{secrets.token_hex(16)}"
EXECUTOR = ("--env", f"CNE_TICKET_KEY={KEY}", "--env", "CNE_STORAGE_URL=file:///work/storage")


@pytest.fixture(scope="module")
def images():
    """The two images, by name; the engine runs as long as the tests do."""
    with engine.engine():
        yield {image.name: image for image in build.build(list(pins.PROGRAMS), "debug")}


class Container:
    """A container in the background, which goes with the block."""

    def __init__(self, image: build.Image, *options: str, command: tuple = ()):
        self.name = f"cne-test-{uuid.uuid4().hex[:8]}"
        docker("run", "--detach", "--name", self.name, *HARDENED, *options, image.tag, *command)

    def __enter__(self) -> "Container":
        return self

    def __exit__(self, *_) -> None:
        docker("rm", "--force", "--volumes", self.name, check=False)

    def state(self) -> dict:
        """What the engine says of it."""
        return json.loads(docker("inspect", self.name).stdout)[0]

    def log(self) -> str:
        """Both streams, without colours."""
        done = docker("logs", self.name)
        return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)

    def wait_for(self, text: str, times: int = 1, seconds: float = 20) -> str:
        """Waits until the log has a text so many times; the log."""
        end = time.monotonic() + seconds
        while (log := self.log()).count(text) < times:
            assert time.monotonic() < end and self.state()["State"]["Running"], f"{text!r} is not in:\n{log}"
            time.sleep(0.1)
        return log

    def ended(self, seconds: float = 20) -> tuple[int, str, bool]:
        """Waits for its end: exit code, log, and whether it was killed by its memory limit."""
        end = time.monotonic() + seconds
        while (state := self.state()["State"])["Running"]:
            assert time.monotonic() < end, f"it still runs:\n{self.log()}"
            time.sleep(0.1)
        return state["ExitCode"], self.log(), state["OOMKilled"]

    def folders(self) -> set[str]:
        """Names of what executors have made in the volume."""
        copied = subprocess.run(["docker", "cp", f"{self.name}:/work", "-"], check=True, stdout=subprocess.PIPE).stdout
        with tarfile.open(fileobj=io.BytesIO(copied)) as tar:
            return {path.parts[1] for path in map(PurePath, tar.getnames()) if len(path.parts) > 1 and path.parts[1].startswith("tasks-1-")}

    def status(self) -> dict[str, str]:
        """/proc/<pid>/status of its process."""
        text = Path(f"/proc/{self.state()['State']['Pid']}/status").read_text()
        return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def files(image: build.Image) -> dict[str, tarfile.TarInfo]:
    """What the image holds, by path."""
    found = {}
    with tarfile.open(fileobj=_saved(image)) as archive:
        for member in archive:
            if member.name.endswith("layer.tar"):
                with tarfile.open(fileobj=archive.extractfile(member)) as layer:
                    found |= {one.name.rstrip("/"): one for one in layer}
    return found


def _saved(image: build.Image):
    path = build.folder("debug") / f"{image.name}.save.tar"
    docker("save", "--output", str(path), image.tag)
    file = open(path, "rb")
    path.unlink()
    return file


@pytest.mark.parametrize("name", pins.PROGRAMS)
def test_nothing_but_the_program_can_be_run(images, name):
    held = files(images[name])
    programs = {path for path, info in held.items() if info.isreg() and info.mode & 0o111 and not re.search(r"/(lib\w+\.so\.\d|ld-linux[\w.-]+)$", path)}
    assert programs == {f"usr/local/bin/{name}"}
    assert "etc/ssl/certs/ca-certificates.crt" in held and not any(re.search(r"dpkg|apk|/rpm", path) for path in held)
    # One time, root's, except for the volume: equal content is an equal layer.
    assert {info.mtime for info in held.values()} == {int(pins.epoch())}
    assert {path for path, info in held.items() if (info.uid, info.gid) != (0, 0)} == {"work"}
    assert not any(info.mode & 0o6022 for info in held.values() if not info.issym())
    shell = docker("run", "--rm", "--network", "none", "--entrypoint", "sh", images[name].tag, "-c", "true", check=False)
    assert shell.returncode == 127 and "not found" in shell.stderr, shell.stderr


@pytest.mark.parametrize("name", pins.PROGRAMS)
def test_an_image_says_what_it_is(images, name):
    config = json.loads(docker("image", "inspect", images[name].tag).stdout)[0]["Config"]
    labels = {key.removeprefix("org.opencontainers.image."): value for key, value in config["Labels"].items()}
    assert (labels["title"], labels["licenses"], labels["version"]) == (name, "Apache-2.0", pins.version())
    assert (labels["revision"], labels["created"]) == (pins.revision(), pins.created())
    assert config["User"] == "65532:65532" and config["StopSignal"] == "SIGTERM"
    assert config["Healthcheck"]["Test"] == ["CMD", f"/usr/local/bin/{name}", "health"]
    bom = json.loads((build.folder("debug") / f"{name}.cdx.json").read_text())
    listed = {component["name"] for component in bom["components"]}
    assert bom["specVersion"] == "1.5" and {"datafusion", "tokio", "ring", "libc6", "ca-certificates"} <= listed
    # What only tests and build scripts use is in no binary.
    assert not {"rcgen", "protox", "cne-semantics"} & listed
    assert ("cne-executor" in listed) == (name == "comet-executor")


def test_the_scheduler_is_healthy_by_its_own_word(images):
    image = images["comet-scheduler"]
    with Container(image, "--env", f"CNE_TICKET_KEY={KEY}") as scheduler:
        end = time.monotonic() + 20
        while (asked := docker("exec", scheduler.name, "/usr/local/bin/comet-scheduler", "health", check=False)).returncode:
            assert time.monotonic() < end, asked.stderr
            time.sleep(0.1)
        assert asked.stdout == "healthy\n"
        end = time.monotonic() + 25
        while scheduler.state()["State"]["Health"]["Status"] == "starting":
            assert time.monotonic() < end, scheduler.state()["State"]["Health"]
            time.sleep(0.2)
        assert scheduler.state()["State"]["Health"]["Status"] == "healthy"
        docker("stop", "--time", "10", scheduler.name)
        assert scheduler.ended()[0] == 0
    nobody = docker("run", "--rm", *HARDENED, image.tag, "health", check=False)
    assert nobody.returncode == 1 and "no answer from 127.0.0.1:50053" in nobody.stderr, nobody.stderr


def test_the_executor_obeys_its_limits(images):
    with Container(images["comet-executor"], "--memory", "512m", "--memory-swap", "512m", "--cpus", "1.5", *EXECUTOR) as executor:
        log = executor.wait_for("executor started")
        # Of one and a half processors one is a whole one.
        assert re.search(rf"slots=1 memory=\d+ memory_limit={512 * MIB}\b", log), log
        assert 128 * MIB < int(re.search(r" memory=(\d+)", log)[1]) < 384 * MIB
        assert docker("exec", executor.name, "/usr/local/bin/comet-executor", "health").stdout == "healthy\n"
        status = executor.status()
        assert status["Uid"].split() == status["Gid"].split() == ["65532"] * 4
        assert (int(status["CapEff"], 16), int(status["CapBnd"], 16), status["NoNewPrivs"]) == (0, 0, "1")
        docker("stop", "--time", "10", executor.name)
        assert executor.ended()[0] == 0


def test_a_limit_that_is_too_small_is_refused(images):
    with Container(images["comet-executor"], "--memory", "96m", "--memory-swap", "96m", *EXECUTOR) as executor:
        code, log, killed = executor.ended()
    assert code == 1 and not killed and "memory limit of 96 MiB is too small" in log, log
    options = ("--memory", "512m", "--memory-swap", "512m", "--cpus", "1", "--env", "CNE_MEMORY_BYTES=2GiB", *EXECUTOR)
    with Container(images["comet-executor"], *options) as executor:
        code, log, _ = executor.ended()
    assert code == 1 and "CNE_MEMORY_BYTES is 2048 MiB" in log, log


def test_only_the_volume_is_written_to_and_what_a_killed_one_left_goes(images):
    image = images["comet-executor"]
    elsewhere = ("--env", "CNE_WORK_DIR=/elsewhere")
    with Container(image, "--memory", "512m", "--cpus", "1", *EXECUTOR, *elsewhere) as executor:
        code, log, _ = executor.ended()
    assert code == 1 and "Read-only file system" in log, log
    with Container(image, "--memory", "512m", "--cpus", "1", *EXECUTOR) as executor:
        executor.wait_for("executor started")
        first = executor.folders()
        docker("kill", "--signal", "KILL", executor.name)
        assert executor.ended()[0] == 137
        docker("start", executor.name)
        executor.wait_for("executor started", times=2)
        now = executor.folders()
        assert len(first) == len(now) == 1 and first != now


def test_the_build_definitions_agree():
    values, dockerfile, bake = pins.pins(), (pins.SOURCE / "Dockerfile").read_text(), (pins.SOURCE / "docker-bake.hcl").read_text()
    base = f"rust:{values['RUST_VERSION']}-slim-{values['DEBIAN_SUITE']}"
    assert f"ARG BUILD_BASE={base}\n" in dockerfile and f'default = "{base}"' in bake
    assert f":{values['SPARK_VERSION']}-" in re.search(r"^ARG DRIVER_BASE=(.+)$", dockerfile, re.M)[1]
    assert f"USER {values['UID_GID']}:{values['UID_GID']}" in dockerfile
    assert (values["SPARK_VERSION"], values["COMET_VERSION"]) == (paths.SPARK_VERSION, paths.COMET_VERSION)
    stages = set(re.findall(r"^FROM .+ AS (\S+)$", dockerfile, re.M))
    assert set(re.findall(r'^  target +?= "(.+)"$', bake, re.M)) == {"scheduler", "executor"} < stages and set(build.STAGES.values()) < stages
    assert 'platforms  = ["linux/amd64", "linux/arm64"]' in bake
