"""The real scheduler and a real executor, started with the settings of the applied manifests and the files of the guide's Secrets.

Addresses, the work directory and the store are replaced by ones of this machine; everything else is as the pods would get it. An executor is
ready when the scheduler has answered it: over mutual TLS, with the guide's certificate.
"""
import base64
import contextlib
import os
import urllib.error
import urllib.request
from pathlib import Path

from cne_e2e import paths

from .kube import Cluster
from .processes import free_port, server
from .roots import Failed

MADE_BY_GUIDE = "comet"


def start(made: Cluster) -> int:
    """Starts both with their manifests' settings until both are ready. Gives how many settings they took."""
    deployments = {d["metadata"]["name"]: d for d in made.get("deployments", "full")}
    scheduler = settings(made, deployments["comet-scheduler"], {})
    executor = settings(made, deployments["comet-executor"], {"CNE_SCHEDULER_ADDRESS": scheduler["CNE_SCHEDULER_EXECUTOR_ADDRESS"]})
    with process(made, "comet-scheduler", scheduler, "CNE_SCHEDULER_HTTP_ADDRESS"), process(made, "comet-executor", executor, "CNE_EXECUTOR_HTTP_ADDRESS"):
        for name in ("comet-scheduler", "comet-executor"):
            if '"tls":true' not in (made.folder / f"{name}.log").read_text():
                raise Failed(f"{name} is ready, but does not say that it speaks TLS")
    return len(scheduler) + len(executor)


def settings(made: Cluster, deployment: dict, replaced: dict[str, str]) -> dict[str, str]:
    """A container's variables, with files and addresses of this machine."""
    pod = deployment["spec"]["template"]["spec"]
    home = made.folder / deployment["metadata"]["name"]
    for volume in pod["volumes"]:
        if "secret" in volume:
            write(home / volume["name"], made, "secret", volume["secret"]["secretName"])
        if "configMap" in volume:
            write(home / volume["name"], made, "configmap", volume["configMap"]["name"])
    given = {"CNE_HOST": "127.0.0.1", "CNE_WORK_DIR": str(home / "work"), "CNE_STORAGE_URL": f"file://{made.folder}/store"} | replaced
    (made.folder / "store").mkdir(exist_ok=True)
    (home / "work").mkdir()
    found = {}
    for variable in pod["containers"][0]["env"]:
        name, value = variable["name"], variable.get("value", "")
        if value.startswith("0.0.0.0:"):
            value = f"127.0.0.1:{free_port()}"
        found[name] = given.get(name, value.replace("/etc/comet/", f"{home}/"))
    return found


def write(folder: Path, made: Cluster, kind: str, name: str) -> None:
    """The files of a Secret or ConfigMap: of the guide, or of the module itself."""
    for namespace in (MADE_BY_GUIDE, "full"):
        for one in made.get(kind, namespace):
            if one["metadata"]["name"] == name:
                folder.mkdir(parents=True)
                for key, value in one["data"].items():
                    (folder / key).write_bytes(base64.b64decode(value) if kind == "secret" else value.encode())
                return
    raise Failed(f"the manifests mount the {kind} {name}, which neither the guide nor a module makes")


@contextlib.contextmanager
def process(made: Cluster, name: str, variables: dict[str, str], probe: str):
    """A binary of the pool until the block ends; ready when its probe says so."""
    def ready() -> bool:
        try:
            with urllib.request.urlopen(f"http://{variables[probe]}/readyz", timeout=2) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    before = {k: v for k, v in os.environ.items() if not k.startswith(("CNE_", "AWS_"))}
    with server([paths.binary(name)], made.folder / f"{name}.log", ready, 60, before | variables):
        yield
