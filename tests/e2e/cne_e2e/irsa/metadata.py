"""Identities that must not be used: a machine's metadata service and a profile. Both give an administrator's keys, so that a client that falls back
to them would succeed, and be seen."""
import http.server
import json
import threading
from pathlib import Path

from .. import s3


class Temptation:
    """The metadata service (IMDSv2) in a thread, and a profile file in `folder`. `requests` has what was asked of the service."""

    def __init__(self, folder: Path):
        self.folder, self.requests = folder, []

    def __enter__(self) -> "Temptation":
        temptation = self
        credentials = {"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": s3.ACCESS, "SecretAccessKey": s3.SECRET, "Token": "",
                       "Expiration": "2099-01-01T00:00:00Z", "LastUpdated": "2020-01-01T00:00:00Z"}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                temptation.requests.append(self.path)
                path = self.path.rstrip("/")
                text = "token" if path.endswith("/api/token") else "node" if path.endswith("security-credentials") else json.dumps(credentials)
                self.send_response(200)
                self.send_header("x-aws-ec2-metadata-token-ttl-seconds", "21600")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            do_PUT = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True, name="metadata").start()
        self.profile = self.folder / "credentials"
        self.profile.write_text(f"[default]\naws_access_key_id = {s3.ACCESS}\naws_secret_access_key = {s3.SECRET}\n")
        return self

    def __exit__(self, *_) -> None:
        self.server.shutdown()
        self.server.server_close()

    def environment(self, profile: bool = True) -> dict[str, str]:
        """Both within reach of a process."""
        url = f"http://127.0.0.1:{self.server.server_port}"
        file = self.profile if profile else self.folder / "no-credentials"
        return {"AWS_EC2_METADATA_SERVICE_ENDPOINT": url, "AWS_METADATA_ENDPOINT": url, "AWS_SHARED_CREDENTIALS_FILE": str(file),
                "AWS_CONFIG_FILE": str(self.folder / "no-config")}
