"""Authorities and certificates of one run, made by openssl."""
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

DAYS = "2"
# `openssl x509` of version 3.0 cannot make a certificate that has expired; `openssl ca` can.
_CA = """[ca]
default_ca = this
[this]
database = {folder}/index.txt
serial = {folder}/serial
new_certs_dir = {folder}
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
"""


def openssl(*args: str) -> str:
    """Runs openssl; its output."""
    if not shutil.which("openssl"):
        raise RuntimeError("openssl is missing: sudo apt-get install openssl")
    done = subprocess.run(["openssl", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"openssl {args[0]} ended with {done.returncode}: {done.stderr.strip()[-1000:]}")
    return done.stdout


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key (PKCS#8), PEM."""
    cert: Path
    key: Path

    def pem(self) -> tuple[bytes, bytes]:
        """The content of both."""
        return self.cert.read_bytes(), self.key.read_bytes()

    def serial(self) -> int:
        """Its serial number."""
        return int(openssl("x509", "-in", str(self.cert), "-noout", "-serial").strip().split("=")[1], 16)


class Authority:
    """An authority whose key stays in its folder."""

    def __init__(self, folder: Path, name: str):
        folder.mkdir(mode=0o700, parents=True)
        self.folder, self.cert = folder, folder / "ca.crt"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", DAYS, "-subj", f"/CN={name}",
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign",
                "-keyout", str(folder / "ca.key"), "-out", str(self.cert))

    def issue(self, to: Path, names: str, usage: str = "serverAuth,clientAuth", expired: bool = False) -> Certificate:
        """`<to>.crt` and `<to>.key` for names such as `DNS:pool.internal` or `URI:spiffe://...`; made anew when they are there, each by one rename."""
        request, extensions = self.folder / "request.pem", self.folder / "extensions"
        extensions.write_text(f"subjectAltName={names}\nextendedKeyUsage={usage}\nkeyUsage=critical,digitalSignature\nbasicConstraints=critical,CA:FALSE\n")
        made = Certificate(to.with_suffix(".crt.part"), to.with_suffix(".key.part"))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=comet", "-keyout", str(made.key), "-out", str(request))
        if expired:
            self._issue_expired(made.cert, request, extensions)
        else:
            openssl("x509", "-req", "-in", str(request), "-CA", str(self.cert), "-CAkey", str(self.folder / "ca.key"), "-CAcreateserial", "-days", DAYS,
                    "-extfile", str(extensions), "-out", str(made.cert))
        kept = Certificate(to.with_suffix(".crt"), to.with_suffix(".key"))
        made.key.rename(kept.key)
        made.cert.rename(kept.cert)
        return kept

    def _issue_expired(self, to: Path, request: Path, extensions: Path) -> None:
        config = self.folder / "ca.conf"
        config.write_text(_CA.format(folder=self.folder))
        (self.folder / "index.txt").write_text("")
        (self.folder / "serial").write_text("7EAD\n")
        openssl("ca", "-batch", "-notext", "-config", str(config), "-in", str(request), "-cert", str(self.cert), "-keyfile", str(self.folder / "ca.key"),
                "-startdate", "20200101000000Z", "-enddate", "20210101000000Z", "-extfile", str(extensions), "-out", str(to))
