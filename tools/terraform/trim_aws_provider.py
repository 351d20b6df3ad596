#!/usr/bin/env python3
"""Makes a copy of the source of Terraform's AWS provider that links only the services our modules use.

The whole provider takes more than half an hour of one core to compile; nearly all of it is SDKs of services that nobody here calls. Nothing of
the source is kept in this repository: it comes from the Go module cache and the copy goes to a build folder.

    trim_aws_provider.py SOURCE DESTINATION SERVICE...
"""
import re
import shutil
import sys
from pathlib import Path

SERVICES = "github.com/hashicorp/terraform-provider-aws/internal/service/"
NEEDED = ("internal", "names", "version", "main.go", "go.mod", "go.sum")


def copy(source: Path, destination: Path) -> None:
    """Copies what is compiled, without tests; the module cache is read-only, the copy is not."""
    if destination.exists():
        shutil.rmtree(destination)
    destination.mkdir(parents=True)
    for name in NEEDED:
        if (source / name).is_dir():
            shutil.copytree(source / name, destination / name, copy_function=shutil.copyfile,
                            ignore=shutil.ignore_patterns("testdata", "*_test.go"))
        else:
            shutil.copyfile(source / name, destination / name)
    for folder in [destination, *(p for p in destination.rglob("*") if p.is_dir())]:
        folder.chmod(0o755)


def linked_services(root: Path, wanted: set[str]) -> set[str]:
    """The wanted services and those whose packages they import."""
    found: set[str] = set()
    todo = list(wanted)
    while todo:
        name = todo.pop()
        if name in found:
            continue
        folder = root / "internal" / "service" / name
        if not folder.is_dir():
            raise SystemExit(f"error: the provider has no service {name}")
        found.add(name)
        for file in folder.glob("*.go"):
            todo += re.findall(re.escape(SERVICES) + r'(\w+)"', file.read_text())
    return found


def drop_registrations(root: Path, linked: set[str]) -> None:
    """Leaves only the linked services in the list that the provider registers; a service may ask for another one."""
    file = root / "internal" / "provider" / "sdkv2" / "service_packages_gen.go"
    patterns = (re.escape(SERVICES) + r'(\w+)"', r"^\s+(\w+)\.ServicePackage\(ctx\)")
    kept = []
    for line in file.read_text().splitlines(keepends=True):
        names = [m[1] for m in (re.search(p, line) for p in patterns) if m]
        if all(name in linked for name in names):
            kept.append(line)
    file.write_text("".join(kept))


def drop_clients(root: Path, linked: set[str]) -> None:
    """Removes the accessors of SDK clients that no linked package calls, and the imports that only they used."""
    accessors = root / "internal" / "conns" / "awsclient_gen.go"
    called: set[str] = set()
    for file in (root / "internal").rglob("*.go"):
        parts = file.relative_to(root).parts
        other = parts[1] == "service" and len(parts) > 2 and parts[2] not in linked
        if not other and file != accessors:
            called |= set(re.findall(r"\.([A-Z]\w*Client)\(", file.read_text()))
    text = re.sub(r"func \(c \*AWSClient\) (\w+)\(ctx context\.Context\).*?\n}\n",
                  lambda m: m[0] if m[1] in called else "", accessors.read_text(), flags=re.S)
    code = text.split(")\n", 1)[1]

    def if_used(m: re.Match) -> str:
        return m[0] if re.search(rf"\b{re.escape(m[1] or m[2].split('/')[-1])}\.", code) else ""

    accessors.write_text(re.sub(r'\t(?:(\w+) )?"([^"]+)"\n', if_used, text))


def main() -> None:
    """Reads the arguments and makes the copy."""
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    source, destination, wanted = Path(sys.argv[1]), Path(sys.argv[2]), set(sys.argv[3:])
    copy(source, destination)
    linked = linked_services(destination, wanted)
    drop_registrations(destination, linked)
    drop_clients(destination, linked)
    print("linked services:", " ".join(sorted(linked)), file=sys.stderr)


if __name__ == "__main__":
    main()
