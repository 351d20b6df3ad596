"""What can be said of terraform/ without Terraform: shape of the modules, their READMEs, and the names of settings."""
import re
from dataclasses import dataclass
from pathlib import Path

from .roots import ROOT, STANDARD, TERRAFORM, Failed, examples, modules

BEGIN, END = "<!-- inputs and outputs: written by `just terraform-docs` -->\n", "<!-- end -->\n"


@dataclass
class Block:
    """A variable or an output: what its table row says."""
    name: str
    text: str
    default: str | None


def blocks(file: Path, kind: str) -> list[Block]:
    """Variables or outputs of a file, in its order. Relies on `terraform fmt`: a block ends at the brace in the first column."""
    found = []
    for name, body in re.findall(rf'^{kind} "(\w+)" {{\n(.*?)^}}', file.read_text(), re.M | re.S):
        said = re.search(r'^  description\s*= "(.*)"$', body, re.M)
        if not said:
            raise Failed(f"{file}: {kind} {name} has no description")
        default = re.search(r"^  default\s*= (.+)$", body, re.M)
        found.append(Block(name, said[1].replace('\\"', '"').replace("|", "\\|"), default and shown(default[1])))
    return found


def shown(value: str) -> str:
    """A default as a table shows it."""
    return "see variables.tf" if value.rstrip().endswith(("{", "[", "(")) else f"`{value}`"


def tables(folder: Path) -> str:
    """The part of a README that follows from variables.tf and outputs.tf."""
    rows = ["| Input | Default | What it is |", "|---|---|---|"]
    rows += [f"| `{b.name}` | {b.default or '**required**'} | {b.text} |" for b in blocks(folder / "variables.tf", "variable")]
    rows += ["", "| Output | What it is |", "|---|---|"]
    rows += [f"| `{b.name}` | {b.text} |" for b in blocks(folder / "outputs.tf", "output")]
    return "\n".join(rows) + "\n"


def with_tables(folder: Path) -> str:
    """A folder's README with its tables as they should be."""
    text = (folder / "README.md").read_text()
    if BEGIN not in text or END not in text:
        raise Failed(f"{folder}/README.md lacks the lines {BEGIN.strip()!r} and {END.strip()!r}")
    head, rest = text.split(BEGIN, 1)
    return head + BEGIN + tables(folder) + END + rest.split(END, 1)[1]


def write_tables() -> None:
    """Writes the tables into all READMEs."""
    for name in modules() + examples():
        (TERRAFORM / name / "README.md").write_text(with_tables(TERRAFORM / name))


def check_shape() -> None:
    """Each module and example has the standard files, true tables, a folder of tests, and a lock file nowhere."""
    for name in modules() + examples():
        folder = TERRAFORM / name
        missing = [file for file in STANDARD if not (folder / file).is_file()]
        if missing or not list(folder.glob("tests/*.tftest.hcl")):
            raise Failed(f"terraform/{name} lacks {missing or 'tests/*.tftest.hcl'}")
        if (folder / "README.md").read_text() != with_tables(folder):
            raise Failed(f"terraform/{name}/README.md is stale: run `just terraform-docs`")


def check_failures_are_tested() -> int:
    """Each `validation` and `precondition` of a module is expected to fail in some test of it: one that never fails guards nothing. Gives their number."""
    number = 0
    for name in modules():
        folder = TERRAFORM / name
        expected = set(re.findall(r"\b(?:var\.\w+|[a-z]\w+\.\w+)\b", " ".join(
            part for file in folder.glob("tests/*.tftest.hcl")
            for part in re.findall(r"expect_failures = \[(.*?)\]", file.read_text(), re.S))))
        for kind, label, body in re.findall(r'^(variable|resource) ("[\w" ]+") {\n(.*?)^}', "".join(
                (folder / file).read_text() for file in ("variables.tf", "main.tf")), re.M | re.S):
            guards = len(re.findall(r"^\s+(?:validation|precondition) {$", body, re.M))
            address = ("var." if kind == "variable" else "") + ".".join(re.findall(r"\w+", label))
            if guards and address not in expected:
                raise Failed(f"terraform/{name}: {address} has a condition that no test expects to fail")
            number += guards
    return number


def settings_in_modules() -> dict[str, set[str]]:
    """The `CNE_*` variables that pods of each module get, by module."""
    return {name: set(re.findall(r"\bCNE_[A-Z_]+\b", (TERRAFORM / name / "main.tf").read_text())) for name in modules()}


def documented() -> dict[str, set[str]]:
    """The variables of each binary, as docs/configuration.md lists them; a secret may also come as a file."""
    text = (ROOT / "docs" / "configuration.md").read_text()
    found = {}
    for binary in ("comet-scheduler", "comet-executor"):
        section = text.split(f"## {binary}\n", 1)[1].split("\n## ", 1)[0]
        rows = re.findall(r"^\| `(CNE_\w+)` \| `[^`]*` \| ([^|]+) \|", section, re.M)
        found[binary] = {name for name, _ in rows} | {f"{name}_FILE" for name, kind in rows if kind.strip() == "secret"}
    return found


def check_settings() -> int:
    """Every variable that a manifest sets is one of its binary: another one would stop the start. Gives their number."""
    known, number = documented(), 0
    used = settings_in_modules()
    for module, binary in (("modules/scheduler", "comet-scheduler"), ("modules/executor-pool", "comet-executor")):
        names = used[module]
        if len(names) < 10:
            raise Failed(f"terraform/{module}/main.tf sets {len(names)} variables only: is this check still reading the right file?")
        unknown = sorted(names - known[binary])
        if unknown:
            raise Failed(f"terraform/{module} sets {', '.join(unknown)}, which {binary} does not have (docs/configuration.md): it would not start")
        number += len(names)
    return number


def check_driver_keys() -> int:
    """Every `spark.comet.nativeExecutors.*` key in the outputs is a key of the driver. Gives their number."""
    listed = set(re.findall(r"^\| `(spark\.comet\.nativeExecutors\.[\w.]+)`", (ROOT / "docs" / "configuration.md").read_text(), re.M))
    text = (TERRAFORM / "modules" / "scheduler" / "main.tf").read_text()
    used = {f"spark.comet.nativeExecutors.{key}" for key in re.findall(r'"\$\{local\.prefix\}\.([\w.]+)"', text)}
    if len(used) < 5:
        raise Failed("terraform/modules/scheduler/main.tf gives almost no key: is this check still reading the right file?")
    unknown = sorted(used - listed)
    if unknown:
        raise Failed(f"the outputs of terraform/modules/scheduler have {', '.join(unknown)}, which the driver does not know (docs/configuration.md)")
    return len(used)


def check_metrics() -> int:
    """Every metric of an alert is one that docs/operations.md explains. Gives their number."""
    text = (TERRAFORM / "modules" / "observability" / "main.tf").read_text()
    used = set(re.findall(r"\bcomet_[a-z_]+", text))
    unknown = sorted(used - set(re.findall(r"\bcomet_[a-z_]+", (ROOT / "docs" / "operations.md").read_text())))
    if unknown or not used:
        raise Failed(f"alerts use {', '.join(unknown) or 'no metric'}, which docs/operations.md does not explain")
    return len(used)
