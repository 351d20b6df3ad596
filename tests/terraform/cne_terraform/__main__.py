"""All checks of terraform/, or the slice that needs no server:

    python -m cne_terraform [all|quick|docs]

`docs` writes the tables of the READMEs. The others end with one line `terraform: ...` and, when a check did not hold, with exit code 1.
"""
import sys
import time

from . import aws, guide, kube, lint, started, text
from .roots import Failed, Terraform, examples, modules, scratch


def say(what: str) -> None:
    """Progress goes to standard error: standard output has the verdict alone."""
    print(f"== {what}", file=sys.stderr, flush=True)


def quick(terraform: Terraform) -> list[str]:
    """Shape, names, formatting, and the tests with mocks of every module and example."""
    say("shape, names of settings, keys, metrics")
    text.check_shape()
    guards = text.check_failures_are_tested()
    names, keys, metrics = text.check_settings(), text.check_driver_keys(), text.check_metrics()
    say("format")
    lint.formatted()
    tests = 0
    for where in modules() + examples():
        say(f"terraform validate and test in {where}")
        terraform.init(where)
        terraform(where, "validate", "-no-color")
        tests += terraform.test(where)
    return [f"modules {len(modules())}, examples {len(examples())}, tests {tests} passed", f"conditions tested {guards}",
            f"names known {names + keys + metrics}"]


def everything(terraform: Terraform) -> list[str]:
    """`quick`, linters, and applies against a local AWS API and a Kubernetes API server."""
    said = quick(terraform)
    say("tflint and checkov")
    rules, passed, skipped = lint.tflint(), *lint.checkov()
    said.append(f"tflint {rules} rules clean, checkov {passed} passed, 0 failed, {skipped} skipped with reasons")
    say("modules storage and identity on a local AWS API")
    made, held = aws.check(terraform)
    say("Kubernetes objects on a real API server")
    objects, refused, (blocks, settings) = kube.check(terraform, [guide.follow, started.start])
    said += [f"applied {made} resources of AWS and {objects} objects of Kubernetes", "second plans empty", f"policy checks {held} of {held}",
             f"bad manifests refused {refused} of {refused}", f"blocks of the guide run {blocks}", f"scheduler and executor ready with {settings} settings", "destroyed"]
    return said


def main() -> int:
    """Runs what the argument says."""
    what = sys.argv[1] if len(sys.argv) > 1 else "all"
    if what == "docs":
        text.write_tables()
        return 0
    if what not in ("all", "quick"):
        raise SystemExit(__doc__)
    begin = time.monotonic()
    try:
        with scratch() as terraform:
            said = quick(terraform) if what == "quick" else everything(terraform)
    except Failed as e:
        print(e, file=sys.stderr)
        print(f"terraform: failed, {str(e).splitlines()[0]}")
        return 1
    print(f"terraform: {', '.join(said)}, {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
