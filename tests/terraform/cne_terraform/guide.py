"""docs/deploy-eks.md: the blocks that it says were run here are run, one after the other, against a real API server."""
import base64
import hashlib
import os
import re
import tomllib
from pathlib import Path

from .kube import Cluster
from .roots import ROOT, Failed, run

GUIDE = ROOT / "docs" / "deploy-eks.md"


def blocks() -> list[str]:
    """The blocks that are run, in their order. Each block of commands says whether it is run here or planned only."""
    found = []
    for before, info, body in re.findall(r"([^\n]*(?:\n[^\n]+)*)\n\n```(sh[^\n]*)\n(.*?)^```$", GUIDE.read_text(), re.M | re.S):
        marked = ("**Run here**" in before, "**Planned only**" in before)
        if marked != (info == "sh here", info == "sh"):
            raise Failed(f"docs/deploy-eks.md: the block that begins with {body.splitlines()[0]!r} does not say once whether it is run here or planned only")
        if info == "sh here":
            found.append(body)
    if len(found) < 5:
        raise Failed("docs/deploy-eks.md has almost no block that is run here: is this check still reading it right?")
    return found


def follow(made: Cluster) -> int:
    """Runs the blocks and looks at what they made. Gives how many blocks there are."""
    folder = made.folder / "guide"
    (folder / "bin").mkdir(parents=True)
    kubectl = folder / "bin" / "kubectl"
    kubectl.write_text(f'#!/bin/sh\nexec {real_kubectl()} --server={made.url} --token={made.token} --insecure-skip-tls-verify '
                       f'--cache-dir={made.folder}/kubectl "$@"\n')
    kubectl.chmod(0o700)
    env = {k: v for k, v in os.environ.items() if not k.startswith("KUBE")} | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder)}
    todo = blocks()
    for body in todo:
        run(["bash", "-euo", "pipefail", "-c", body], cwd=folder, env=env)
    look(made, folder)
    return len(todo)


def real_kubectl() -> str:
    """Path of the kubectl that the user has."""
    return run(["bash", "-c", "command -v kubectl"]).strip()


def look(made: Cluster, folder: Path) -> None:
    """The Secrets are those that the modules mount, and their content is what the processes take."""
    secrets = {(n, s["metadata"]["name"]): {k: base64.b64decode(v) for k, v in s["data"].items()} for n in ("comet", "spark") for s in made.get("secrets", n)}
    tls, driver = secrets["comet", "comet-tls"], secrets["spark", "comet-driver"]
    if set(tls) != {"tls.crt", "tls.key", "ca.crt"} or set(driver) != {"ca.crt", "token"} or tls["ca.crt"] != driver["ca.crt"]:
        raise Failed(f"docs/deploy-eks.md makes Secrets with {set(tls)} and {set(driver)}")
    for name in ("comet.pool", "comet-scheduler.comet.svc"):
        run(["openssl", "verify", "-CAfile", "pool-ca.crt", "-verify_hostname", name, "-purpose", "sslserver", "pool.crt"], cwd=folder)
    run(["openssl", "verify", "-CAfile", "pool-ca.crt", "-purpose", "sslclient", "pool.crt"], cwd=folder)
    keys = secrets["comet", "comet-ticket"]["ticket-key"].decode().split(",")
    if [bool(re.fullmatch(r"k[12]:[0-9a-f]{64}", key)) for key in keys] != [True, True]:
        raise Failed("docs/deploy-eks.md does not leave two ticket keys, the new one first")
    tenants = tomllib.loads(secrets["comet", "comet-tenants"]["tenants.toml"].decode())
    if tenants["tenant"][0]["token_sha256"] != [hashlib.sha256(driver["token"]).hexdigest()]:
        raise Failed("docs/deploy-eks.md gives drivers a token that the tenants do not know")
