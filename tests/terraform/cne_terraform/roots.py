"""The modules and examples, and Terraform run on copies of them: nothing is written into the checkout."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HOME = Path(os.environ.get("CNE_CACHE") or Path.home() / ".cache" / "cne") / "terraform"
TERRAFORM = ROOT / "terraform"
STANDARD = ("main.tf", "variables.tf", "outputs.tf", "versions.tf", "README.md")


class Failed(Exception):
    """A check that did not hold; the text says which and what to do."""


def modules() -> list[str]:
    """Folders of the modules, below terraform/."""
    return sorted(str(p.parent.relative_to(TERRAFORM)) for p in TERRAFORM.glob("modules/*/main.tf"))


def examples() -> list[str]:
    """Folders of the examples, below terraform/."""
    return sorted(str(p.parent.relative_to(TERRAFORM)) for p in TERRAFORM.glob("examples/**/main.tf"))


def run(command: list, cwd: Path | None = None, env: dict | None = None, wanted: tuple[int, ...] = (0,)) -> str:
    """Runs a command and gives its standard output; raises `Failed` with its end when it ends otherwise."""
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode not in wanted:
        tail = "\n".join(done.stdout.splitlines()[-60:])
        raise Failed(f"{' '.join(str(c) for c in command[:4])} ended with {done.returncode} in {cwd}:\n{tail}")
    return done.stdout


class Terraform:
    """Terraform on a copy of terraform/ in a folder of its own, with the providers of our mirror only."""

    def __init__(self, folder: Path):
        self.folder = folder
        mirror = HOME / "mirror"
        if not mirror.is_dir():
            raise Failed(f"{mirror} is missing: run tools/terraform/setup")
        shutil.copytree(TERRAFORM, folder / "terraform", ignore=shutil.ignore_patterns(".terraform*", "*.tfstate*"))
        config = folder / "cli.tfrc"
        config.write_text("disable_checkpoint = true\nprovider_installation {\n  filesystem_mirror {\n"
                          f'    path = "{mirror}"\n  }}\n}}\n')
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "AWS_", "KUBE"))}
        self.env |= {"TF_CLI_CONFIG_FILE": str(config), "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1", "TF_INPUT": "0",
                     "AWS_EC2_METADATA_DISABLED": "true"}

    def __call__(self, where: str | Path, *arguments: str, wanted: tuple[int, ...] = (0,)) -> str:
        """Runs `terraform ARGUMENTS` in a folder below the copy."""
        return run(["terraform", *arguments], cwd=self.folder / "terraform" / where, env=self.env, wanted=wanted)

    def init(self, where: str | Path) -> None:
        """Links the providers into a root."""
        self(where, "init", "-no-color", "-backend=false")

    def test(self, where: str | Path) -> int:
        """Runs a root's tests with mocks; gives how many there are. A root without tests is a failure."""
        out = self(where, "test", "-no-color")
        ended = re.search(r"^Success! (\d+) passed, 0 failed\.", out, re.M)
        if not ended or int(ended[1]) == 0:
            raise Failed(f"terraform test in {where} ran no test:\n{out[-2000:]}")
        return int(ended[1])

    def apply(self, where: str | Path, variables: dict) -> int:
        """Applies a root; gives how many resources were made."""
        self._variables(where, variables)
        out = self(where, "apply", "-no-color", "-auto-approve")
        return int(re.search(r"Resources: (\d+) added, 0 changed, 0 destroyed", out)[1])

    def plan_is_empty(self, where: str | Path) -> None:
        """A second plan finds nothing to do: otherwise each apply would change something."""
        self(where, "plan", "-no-color", "-detailed-exitcode")

    def destroy(self, where: str | Path) -> int:
        """Destroys what was applied; gives how many resources there were."""
        out = self(where, "destroy", "-no-color", "-auto-approve")
        return int(re.search(r"Resources: (\d+) destroyed", out)[1])

    def outputs(self, where: str | Path) -> dict:
        """Outputs of an applied root, by name."""
        return {k: v["value"] for k, v in json.loads(self(where, "output", "-json")).items()}

    def _variables(self, where: str | Path, variables: dict) -> None:
        (self.folder / "terraform" / where / "test.auto.tfvars.json").write_text(json.dumps(variables))


@contextlib.contextmanager
def scratch() -> Iterator[Terraform]:
    """A `Terraform` whose folder goes with it."""
    (HOME / "run").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HOME / "run", prefix="tf-") as folder:
        yield Terraform(Path(folder))
