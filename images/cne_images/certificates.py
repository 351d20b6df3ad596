"""Authorities and certificates of one run, made by openssl: one authority for the members of the pool, another one for drivers."""
import subprocess
from pathlib import Path

DAYS = "2"


def _openssl(*args: str) -> None:
    done = subprocess.run(["openssl", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"openssl {args[0]} ended with {done.returncode}: {done.stderr.strip()[-1000:]}")


class Authority:
    """An authority whose key stays in its folder."""

    def __init__(self, folder: Path, name: str):
        folder.mkdir(mode=0o700)
        self.folder, self.certificate = folder, folder / "ca.crt"
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", DAYS, "-subj", f"/CN={name}",
                 "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign",
                 "-keyout", str(folder / "ca.key"), "-out", str(self.certificate))

    def issue(self, folder: Path, name: str, usage: str = "serverAuth,clientAuth") -> None:
        """`tls.crt` and `tls.key` (PKCS#8) in a folder, for a DNS name."""
        request, extensions = self.folder / "request.pem", self.folder / "extensions"
        extensions.write_text(f"subjectAltName=DNS:{name}\nextendedKeyUsage={usage}\nkeyUsage=critical,digitalSignature\nbasicConstraints=critical,CA:FALSE\n")
        _openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout", str(folder / "tls.key"), "-out", str(request))
        _openssl("x509", "-req", "-in", str(request), "-CA", str(self.certificate), "-CAkey", str(self.folder / "ca.key"), "-CAcreateserial", "-days", DAYS,
                 "-extfile", str(extensions), "-out", str(folder / "tls.crt"))
