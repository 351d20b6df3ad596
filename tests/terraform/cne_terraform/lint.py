"""Formatting and linters. Both linters are tried on something bad first: one that finds nothing there finds nothing anywhere."""
import json
import os
import tempfile
from pathlib import Path

from .kube import version
from .roots import HOME, TERRAFORM, Failed, examples, modules, run

RULES = (
    "terraform_comment_syntax", "terraform_deprecated_index", "terraform_deprecated_interpolation", "terraform_deprecated_lookup",
    "terraform_documented_outputs", "terraform_documented_variables", "terraform_empty_list_equality", "terraform_map_duplicate_keys",
    "terraform_module_pinned_source", "terraform_module_version", "terraform_naming_convention", "terraform_required_providers",
    "terraform_required_version", "terraform_standard_module_structure", "terraform_typed_variables", "terraform_unused_declarations",
    "terraform_unused_required_providers", "terraform_workspace_remote",
)
BAD = '''
resource "aws_s3_bucket" "Bad" {
  bucket = "${var.name}"
}

variable "name" {}
'''


def formatted() -> None:
    """`terraform fmt` would change nothing, in tests neither."""
    env = os.environ | {"TF_CLI_CONFIG_FILE": os.devnull}  # the user's own may name a file that is not there, and a warning is no file name
    unformatted = run(["terraform", "fmt", "-check", "-recursive", "-list=true", TERRAFORM], env=env, wanted=(0, 3)).split()
    if unformatted:
        raise Failed(f"not formatted: {', '.join(unformatted)}; run `terraform fmt -recursive terraform`")


def tflint() -> int:
    """tflint's rules for Terraform itself, each switched on by name, on every module and example. Gives how many rules there are."""
    binary = HOME / f"tflint-{version('TFLINT')}"
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "tflint.hcl"
        config.write_text('plugin "terraform" {\n  enabled = true\n}\n' + "".join(f'rule "{rule}" {{\n  enabled = true\n}}\n' for rule in RULES))
        (Path(folder) / "bad").mkdir()
        (Path(folder) / "bad" / "main.tf").write_text(BAD)

        def issues(where: Path) -> list[str]:
            out = run([binary, f"--config={config}", "--format=json", f"--chdir={where}"], wanted=(0, 2))
            return [f"{i['rule']['name']}: {i['message']} ({i['range']['filename']}:{i['range']['start']['line']})" for i in json.loads(out)["issues"]]

        if len(issues(Path(folder) / "bad")) < 5:
            raise Failed("tflint found less than five faults in a file with more: its rules are not on")
        for where in modules() + examples():
            found = issues(TERRAFORM / where)
            if found:
                raise Failed(f"tflint in terraform/{where}:\n" + "\n".join(found))
    return len(RULES)


def checkov() -> tuple[int, int]:
    """checkov's findings in modules and examples: none but those skipped beside the code, each with a reason. Gives passed and skipped."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "main.tf").write_text(BAD)
        if not _checkov(Path(folder))["results"]["failed_checks"]:
            raise Failed("checkov found nothing in a bucket without anything: its checks are not on")
    passed, skipped = 0, []
    for part in ("modules", "examples"):
        report = _checkov(TERRAFORM / part)
        failed = [f"{c['check_id']} {c['check_name']}: {c['resource']} ({c['file_path']}:{c['file_line_range'][0]})" for c in report["results"]["failed_checks"]]
        if failed:
            raise Failed(f"checkov in terraform/{part}:\n" + "\n".join(sorted(set(failed))))
        passed += len(report["results"]["passed_checks"])
        skipped += report["results"]["skipped_checks"]
    bare = sorted({c["check_id"] for c in skipped if len(c["check_result"].get("suppress_comment") or "") < 8})
    if bare or not passed:
        raise Failed(f"checkov: skipped without a reason: {bare}, passed: {passed}")
    return passed, len({(c["check_id"], *Path(c["file_path"]).parts[-2:]) for c in skipped})


def _checkov(folder: Path) -> dict:
    command = [HOME / "venv-checkov" / "bin" / "checkov", "-d", folder, "--framework", "terraform", "--output", "json", "--compact", "--skip-download"]
    out = run(command, wanted=(0, 1))
    report = json.loads(out[out.index("{"):])
    return report if "results" in report else {"results": {"failed_checks": [], "passed_checks": [], "skipped_checks": []}}
