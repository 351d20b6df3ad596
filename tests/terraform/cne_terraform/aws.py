"""Modules storage and identity applied against a local AWS API (moto), and their policies tried out with enforcement on.

What this API does not look at: conditions of policies, and web identity tokens. Conditions are asserted in the modules' own tests.
"""
import json
import urllib.request
from pathlib import Path

from .processes import answers, free_port, server
from .roots import HOME, Failed, Terraform, run

WHERE = "tests/aws"
PACKAGES = Path(__file__).resolve().parents[1]


def check(terraform: Terraform) -> tuple[int, int]:
    """Applies, plans again, tries the policies, destroys. Gives how many resources were made and how many policy checks held."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    moto = [HOME / "venv-moto" / "bin" / "moto_server", "-H", "127.0.0.1", "-p", port]
    with server(moto, terraform.folder / "moto.log", lambda: answers(f"{url}/moto-api/data.json")):
        terraform.init(WHERE)
        made = terraform.apply(WHERE, {"endpoint": url})
        terraform.plan_is_empty(WHERE)
        held = policies(terraform, url)
        gone = terraform.destroy(WHERE)
    if gone != made:
        raise Failed(f"{made} resources were made and {gone} destroyed")
    return made, held


def policies(terraform: Terraform, url: str) -> int:
    """Runs the attempts in a process of the environment that has an AWS client; enforcement is off again afterwards."""
    given = json.dumps({"url": url, "outputs": terraform.outputs(WHERE)})
    out = run([HOME / "venv-moto" / "bin" / "python", "-m", "cne_terraform.attempts", given], env=terraform.env | {"PYTHONPATH": str(PACKAGES)})
    result = json.loads(out.splitlines()[-1])
    if result["wrong"]:
        raise Failed("policies allow or deny something else:\n" + "\n".join(result["wrong"]))
    return result["held"]


def enforce(url: str, after: int | None) -> None:
    """Turns enforcement of policies on (`after` 0 requests) or off (None: after more than there will be)."""
    body = str(10**9 if after is None else after).encode()
    urllib.request.urlopen(urllib.request.Request(f"{url}/moto-api/reset-auth", data=body, headers={"Content-Type": "text/plain"}), timeout=10).read()
