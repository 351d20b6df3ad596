"""Bills of materials of the images: CycloneDX 1.5 as JSON, checked against its schema. Equal content gives an equal file."""
import json
import os
import re
import subprocess
import uuid
import zipfile
from datetime import datetime, timezone
from pathlib import Path

from cne_e2e import paths
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense, LicenseExpression
from cyclonedx.output.json import JsonV1Dot5
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from . import engine, pins

_NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")


def _metadata() -> dict:
    target = f"{os.uname().machine}-unknown-linux-gnu"
    out = subprocess.run(["cargo", "metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform", target],
                         check=True, stdout=subprocess.PIPE, cwd=paths.ROOT).stdout
    return json.loads(out)


def linked(metadata: dict, program: str) -> dict[str, list[str]]:
    """Ids of the crates that are compiled into a program, each with those it needs: neither build scripts nor test code. A superset where features are
    off that the workspace has on elsewhere."""
    crate = next(p["id"] for p in metadata["packages"] if any(t["name"] == program and "bin" in t["kind"] for t in p["targets"]))
    nodes = {n["id"]: n for n in metadata["resolve"]["nodes"]}
    macros = {p["id"] for p in metadata["packages"] if any("proc-macro" in t["kind"] for t in p["targets"])}
    found, open_ids = {}, [crate]
    while open_ids:
        one = open_ids.pop()
        if one in found:
            continue
        needed = [d["pkg"] for d in nodes[one]["deps"] if any(kind["kind"] is None for kind in d["dep_kinds"])]
        found[one] = sorted(i for i in needed if i not in macros)
        open_ids += found[one]
    return found


def _checksums() -> dict[tuple[str, str], str]:
    """SHA-256 of each package's archive, from Cargo.lock."""
    blocks = (paths.ROOT / "Cargo.lock").read_text().split("[[package]]")
    fields = [dict(re.findall(r'^(name|version|checksum) = "(.+)"$', block, re.M)) for block in blocks]
    return {(f["name"], f["version"]): f["checksum"] for f in fields if "checksum" in f}


def _licence(text: str | None):
    """A licence as Cargo writes it: an old slash means OR."""
    return [LicenseExpression(text.replace(" / ", " OR ").replace("/", " OR "))] if text else []


def of_program(program: str, out: Path) -> Bom:
    """Crates from Cargo's metadata, C library and certificates from Debian's package list."""
    metadata = _metadata()
    packages, sums = {p["id"]: p for p in metadata["packages"]}, _checksums()
    found = linked(metadata, program)
    components = {}
    for one in sorted(found):
        p = packages[one]
        digest = sums.get((p["name"], p["version"]))
        components[one] = Component(name=p["name"], version=p["version"], type=ComponentType.LIBRARY, licenses=_licence(p["license"]),
                                    bom_ref=f"cargo:{p['name']}@{p['version']}", purl=PackageURL("cargo", None, p["name"], p["version"]),
                                    hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)] if digest else [])
    system = [_debian(*line.split("\t")) for line in (out / "layers" / "packages.tsv").read_text().splitlines()]
    root = _root(program, pins.digest(out / "bin" / program))
    crate = next(i for i in found if any(t["name"] == program for t in packages[i]["targets"]))
    return _bom(root, [*components.values(), *system],
                {root: [components[crate], *system]} | {components[i]: [components[d] for d in needed] for i, needed in found.items()})


def of_driver(tag: str, jars: list[Path]) -> Bom:
    """Debian's packages and the jars of the image, those of Spark and the two that are added. A jar is named by its file: Maven's group is not in it."""
    listed = engine.docker("run", "--rm", "--network", "none", "--entrypoint", "dpkg-query", tag, "-W", "-f", "${Package}\\t${Version}\\n").stdout
    system = [_debian(*line.split("\t")) for line in sorted(listed.splitlines())]
    names = engine.docker("run", "--rm", "--network", "none", "--entrypoint", "sh", tag, "-c", "cd /opt/spark/jars && sha256sum *.jar").stdout
    spark = [_jar(line[66:], line[:64]) for line in names.splitlines()]
    own = [_jar(jar.name, pins.digest(jar), _shaded(jar)) for jar in jars]
    root = _root("comet-driver", None)
    return _bom(root, [*system, *spark, *own], {root: [*system, *spark, *own]})


def of_go(name: str, binary: Path, out: Path) -> Bom:
    """The modules that Go has written into a binary, and the system's files beside it."""
    listed = subprocess.run(["go", "version", "-m", str(binary)], check=True, stdout=subprocess.PIPE, text=True).stdout
    modules = []
    for _, path, version in sorted(re.findall(r"^\t(mod|dep)\t(\S+)\t(\S+)", listed, re.M)):
        space, _, title = path.rpartition("/")
        modules.append(Component(name=path, version=version, type=ComponentType.LIBRARY, bom_ref=f"go:{path}@{version}", purl=PackageURL("golang", space, title, version)))
    modules += [_debian(*line.split("\t")) for line in (out / "layers" / "packages.tsv").read_text().splitlines()]
    root = _root(name, pins.digest(binary))
    return _bom(root, modules, {root: modules})


def _shaded(jar: Path) -> list[str]:
    """What Maven has put into a jar, as group:artifact:version."""
    found = set()
    with zipfile.ZipFile(jar) as z:
        for name in z.namelist():
            if re.fullmatch(r"META-INF/maven/.+/pom\.properties", name):
                found.add(":".join(re.search(rf"^{key}=(.+?)\s*$", z.read(name).decode(), re.M)[1] for key in ("groupId", "artifactId", "version")))
    return sorted(found)


def _jar(name: str, digest: str, inside: list[str] = ()) -> Component:
    parts = re.fullmatch(r"(.+?)-(\d[\w.+-]*?)\.jar", name)
    title, version = (parts[1], parts[2]) if parts else (name.removesuffix(".jar"), None)
    return Component(name=title, version=version, type=ComponentType.LIBRARY, bom_ref=f"jar:{name}", hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
                     properties=[Property(name="comet:contains", value=one) for one in inside])


def _debian(name: str, version: str) -> Component:
    return Component(name=name, version=version, type=ComponentType.LIBRARY, bom_ref=f"deb:{name}@{version}",
                     purl=PackageURL("deb", "debian", name, version, {"distro": pins.pins()["DEBIAN_SUITE"]}))


def _root(name: str, digest: str | None) -> Component:
    return Component(name=name, version=pins.version(), type=ComponentType.CONTAINER, bom_ref=f"image:{name}", licenses=[DisjunctiveLicense(id="Apache-2.0")],
                     hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)] if digest else [],
                     properties=[Property(name="comet:revision", value=pins.revision())])


def _bom(root: Component, components: list[Component], needs: dict[Component, list[Component]]) -> Bom:
    bom = Bom(components=components)
    bom.metadata.component = root
    bom.metadata.timestamp = datetime.fromtimestamp(int(pins.epoch()), timezone.utc)
    for one, needed in needs.items():
        bom.register_dependency(one, needed)
    content = "\n".join(sorted(f"{c.bom_ref}" for c in components))
    bom.serial_number = uuid.uuid5(_NAMESPACE, f"{root.name} {pins.revision()} {content}")
    return bom


def write(bom: Bom, file: Path) -> None:
    """Writes it; what does not follow CycloneDX's schema is an error."""
    text = JsonV1Dot5(bom).output_as_string(indent=1)
    wrong = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
    if wrong:
        raise RuntimeError(f"{file} would not be CycloneDX 1.5: {wrong}")
    file.write_text(text + "\n")
