"""An OpenID Connect issuer on loopback: its keys over HTTP, and tokens as a Kubernetes cluster makes them for service accounts."""
import base64
import http.server
import json
import os
import re
import subprocess
import threading
import time
from pathlib import Path

SUBJECT = "system:serviceaccount:comet:executor"
AUDIENCE = "sts.amazonaws.com"


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """Signs tokens with a key of its own. `secrets` has every token that it has made."""

    def __init__(self, folder: Path):
        self.key = folder / "issuer.pem"
        subprocess.run(["openssl", "genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.key], check=True)
        text = subprocess.run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.modulus = bytes.fromhex(text.strip().partition("=")[2])
        self.secrets: set[str] = set()
        self.url = ""

    def __enter__(self) -> "Issuer":
        issuer = self

        class Keys(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps(issuer.page(self.path)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Keys)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True, name="oidc").start()
        return self

    def __exit__(self, *_) -> None:
        self.server.shutdown()
        self.server.server_close()

    def page(self, path: str) -> dict:
        """What is served: the keys, or where they are."""
        if path == "/keys":
            return {"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "k1", "n": _b64(self.modulus), "e": "AQAB"}]}
        return {"issuer": self.url, "jwks_uri": f"{self.url}/keys", "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"]}

    def token(self, seconds: float = 3600, subject: str = SUBJECT, audience: str = AUDIENCE) -> str:
        """A token that ends in so many seconds (has ended, below zero)."""
        now = int(time.time())
        claims = {"iss": self.url, "sub": subject, "aud": [audience], "iat": now - 60, "nbf": now - 60, "exp": int(now + seconds),
                  "jti": os.urandom(8).hex()}
        head = _b64(json.dumps({"alg": "RS256", "kid": "k1", "typ": "JWT"}).encode())
        text = f"{head}.{_b64(json.dumps(claims).encode())}"
        signed = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=text.encode(), check=True, stdout=subprocess.PIPE).stdout
        token = f"{text}.{_b64(signed)}"
        self.secrets.add(token)
        return token

    def write(self, file: Path, **claims) -> Path:
        """A token in a file, exchanged as the kubelet does it: never half written."""
        part = file.with_suffix(".part")
        part.write_text(self.token(**claims))
        part.rename(file)
        return file


class Rotation:
    """Exchanges a token file every `every` seconds for one that is valid for `valid`."""

    def __init__(self, issuer: Issuer, file: Path, every: float, valid: float):
        self.issuer, self.file, self.every, self.valid = issuer, file, every, valid
        self.made, self.over = 0, threading.Event()

    def __enter__(self) -> "Rotation":
        self.turn()
        self.thread = threading.Thread(target=self._run, daemon=True, name="rotation")
        self.thread.start()
        return self

    def turn(self) -> None:
        """The next token."""
        self.issuer.write(self.file, seconds=self.valid)
        self.made += 1

    def _run(self) -> None:
        while not self.over.wait(self.every):
            self.turn()

    def __exit__(self, *_) -> None:
        self.over.set()
        self.thread.join()


def parts(token: str) -> list[str]:
    """What of a token is secret: itself, and its signature."""
    return [token, *re.findall(r"[^.]+$", token)]
