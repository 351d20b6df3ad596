"""The modules that make Kubernetes objects, applied to a real API server (kube-apiserver on etcd) with the definitions of KEDA, Karpenter and
Prometheus' operator.

There is no kubelet and no controller: objects are accepted or refused, and nothing runs.
"""
import contextlib
import json
import os
import re
import secrets
import ssl
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from .processes import answers, free_port, server
from .roots import HOME, ROOT, Failed, Terraform, run

WHERE = "tests/kubernetes"
NAMESPACES = ("full", "plain")
# The strictest of Kubernetes' own standards: a pod that breaks it is refused by the server.
RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"


def version(name: str) -> str:
    """A version of tools/terraform/versions.sh."""
    return re.search(rf"^{name}=(\S+)$", (ROOT / "tools" / "terraform" / "versions.sh").read_text(), re.M)[1]


class Cluster:
    """An API server that answers, and kubectl for it."""

    def __init__(self, url: str, token: str, folder: Path):
        self.url, self.token, self.folder = url, token, folder

    def kubectl(self, *arguments: str, wanted: tuple[int, ...] = (0,)) -> str:
        """Runs kubectl as the administrator."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("KUBE")}
        return run(["kubectl", f"--server={self.url}", f"--token={self.token}", "--insecure-skip-tls-verify", f"--cache-dir={self.folder}/kubectl",
                    *arguments], env=env | {"HOME": str(self.folder)}, wanted=wanted)

    def get(self, kind: str, namespace: str | None = None) -> list[dict]:
        """Objects of a kind."""
        scope = ["-n", namespace] if namespace else []
        return json.loads(self.kubectl("get", kind, *scope, "-o", "json"))["items"]


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """etcd and kube-apiserver in a folder, with the definitions applied and the namespaces made."""
    store, peers, port = free_port(), free_port(), free_port()
    token = secrets.token_hex(16)
    certs = folder / "certs"
    certs.mkdir(mode=0o700)
    run(["openssl", "genrsa", "-out", certs / "sa.key", "2048"])
    run(["openssl", "rsa", "-in", certs / "sa.key", "-pubout", "-out", certs / "sa.pub"])
    (folder / "tokens.csv").write_text(f'{token},admin,admin,"system:masters"\n')
    etcd = ["etcd", "--data-dir", folder / "etcd", "--listen-client-urls", f"http://127.0.0.1:{store}", "--advertise-client-urls",
            f"http://127.0.0.1:{store}", "--listen-peer-urls", f"http://127.0.0.1:{peers}", "--initial-advertise-peer-urls",
            f"http://127.0.0.1:{peers}", "--initial-cluster", f"default=http://127.0.0.1:{peers}"]
    url = f"https://127.0.0.1:{port}"
    api = [HOME / f"kube-apiserver-{version('KUBERNETES')}", f"--etcd-servers=http://127.0.0.1:{store}", "--bind-address=127.0.0.1",
           f"--secure-port={port}", f"--cert-dir={certs}", f"--service-account-issuer={url}", f"--service-account-key-file={certs}/sa.pub",
           f"--service-account-signing-key-file={certs}/sa.key", f"--token-auth-file={folder}/tokens.csv", "--authorization-mode=RBAC",
           "--service-cluster-ip-range=198.51.100.0/24", "--disable-admission-plugins=ServiceAccount"]
    trust = ssl._create_unverified_context()

    def ready() -> bool:
        try:
            with urllib.request.urlopen(f"{url}/readyz", context=trust, timeout=2) as answer:
                return answer.status == 200
        except OSError:
            return False

    with server(etcd, folder / "etcd.log", lambda: answers(f"http://127.0.0.1:{store}/health")), server(api, folder / "api.log", ready):
        made = Cluster(url, token, folder)
        for name in ("KEDA", "KARPENTER", "PROMETHEUS_OPERATOR"):
            made.kubectl("apply", "--server-side", "-f", str(HOME / "crds" / f"{name.lower()}-{version(name)}"))
        made.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        for namespace in NAMESPACES:
            made.kubectl("create", "namespace", namespace)
            made.kubectl("label", "namespace", namespace, RESTRICTED)
        yield made


def check(terraform: Terraform, also: list[Callable[[Cluster], int]]) -> tuple[int, int, list[int]]:
    """Applies, plans again, looks at what the server has, does what else is to be done with it, destroys.

    Gives how many objects were made, how many manifests were refused as they have to be, and what `also` gives.
    """
    folder = terraform.folder / "kube"
    folder.mkdir()
    with cluster(folder) as made:
        terraform.init(WHERE)
        objects = terraform.apply(WHERE, {"host": made.url, "token": made.token})
        terraform.plan_is_empty(WHERE)
        pods_are_restricted(made)
        refused = bad_manifests(made)
        done = [step(made) for step in also]
        if terraform.destroy(WHERE) != objects:
            raise Failed(f"not all of the {objects} objects were destroyed")
        left = [o["metadata"]["name"] for n in NAMESPACES for o in made.get("deployments,networkpolicies,scaledobjects", n)]
        if left:
            raise Failed(f"left behind: {left}")
    return objects, refused, done


def pods_are_restricted(made: Cluster) -> None:
    """The pods of each Deployment are let in under the restricted standard: made here as pods, since nothing makes them from Deployments."""
    for namespace in NAMESPACES:
        deployments = made.get("deployments", namespace)
        if len(deployments) != 2:
            raise Failed(f"namespace {namespace} has {len(deployments)} Deployments, not 2")
        for deployment in deployments:
            submit(made, namespace, pod_of(deployment))


def pod_of(deployment: dict) -> dict:
    """A pod as the Deployment's controller would make it."""
    template = deployment["spec"]["template"]
    metadata = {"name": f"{deployment['metadata']['name']}-test", "labels": template["metadata"]["labels"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def submit(made: Cluster, namespace: str, manifest: dict, wanted: tuple[int, ...] = (0,)) -> str:
    """A server-side dry run of a manifest with strict validation of its fields."""
    file = made.folder / "manifest.json"
    file.write_text(json.dumps(manifest))
    return made.kubectl("create", "-n", namespace, "--dry-run=server", "--validate=strict", "-f", str(file), wanted=wanted)


def bad_manifests(made: Cluster) -> int:
    """The server refuses what it should, so that its consent means something. Gives how many it refused."""
    deployment = made.get("deployments", "full")[0]
    scaled = made.get("scaledobjects", "full")[0]
    scaled = {key: scaled[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "other"}}
    privileged = pod_of(deployment)
    privileged["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    root = pod_of(deployment)
    root["spec"]["securityContext"]["runAsNonRoot"] = False
    root["spec"]["containers"][0]["securityContext"]["runAsNonRoot"] = False
    no_triggers = scaled | {"spec": {k: v for k, v in scaled["spec"].items() if k != "triggers"}}
    unknown = scaled | {"spec": scaled["spec"] | {"minReplicas": 1}}
    cases = {"violates PodSecurity": [privileged, root], "spec.triggers": [no_triggers], "unknown field": [unknown]}
    number = 0
    for reason, manifests in cases.items():
        for manifest in manifests:
            said = submit(made, "full", manifest, wanted=(0, 1))
            if reason not in said:
                raise Failed(f"the server should have said {reason!r} and said: {said[-500:]}")
            number += 1
    return number
