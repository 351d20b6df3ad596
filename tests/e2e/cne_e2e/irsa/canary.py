"""Secrets of a run must be found in nothing that it has left behind."""
import base64
from pathlib import Path
from urllib.parse import quote

from .oidc import parts


def forms(secrets: set[str]) -> list[bytes]:
    """Each secret as it may be written: plain, in a URL, in Base64."""
    out = set()
    for secret in secrets:
        for text in parts(secret) if secret.startswith("eyJ") else [secret]:
            out |= {text, quote(text, safe=""), base64.b64encode(text.encode()).decode().rstrip("=")}
    return [text.encode() for text in out if len(text) >= 8]


def search(files: list[Path], texts: list[str], secrets: set[str]) -> list[str]:
    """Where something was found; never what."""
    wanted = forms(secrets)
    found = []
    for name, data in [(str(f), f.read_bytes()) for f in files] + [(f"text {i}: {t[:60]}", t.encode()) for i, t in enumerate(texts)]:
        if any(w in data for w in wanted):
            found.append(name)
    return found
