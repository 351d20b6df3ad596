"""Runs TPC-H's queries in the driver's container and compares the answers with plain Spark's, which are mounted: the last line is `N/N equal`.

spark-submit demo_driver.py, with /data (tables) and /run/pool/{queries,answers}.json
"""
import json
import socket
import ssl
import sys
from pathlib import Path

sys.path.insert(0, "/demo/e2e")

from cne_e2e import paths, session, tpch  # noqa: E402
from cne_e2e.compare import Answer  # noqa: E402

POOL = Path("/run/pool")


def prove_tls() -> None:
    """The pool's ports speak TLS, with certificates of the pool's authority, and give nothing to who does not."""
    for port in (50050, 50051):
        with socket.create_connection(("scheduler", port), timeout=10) as plain:
            plain.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9))
            try:
                answer = plain.recv(100)
            except ConnectionResetError:
                answer = b""
        # Nothing, or a TLS alert; HTTP/2 would begin with a frame of settings.
        assert not answer or answer[0] == 21, f"port {port} answers without TLS: {answer!r}"
        context = ssl.create_default_context(cafile=POOL / "ca.crt")
        context.set_alpn_protocols(["h2"])
        context.load_cert_chain(POOL / "tls.crt", POOL / "tls.key")
        with socket.create_connection(("scheduler", port), timeout=10) as raw, context.wrap_socket(raw, server_hostname="comet-pool") as secured:
            print(f"port {port}: {secured.version()}, plaintext is refused", flush=True)


def main() -> int:
    """Runs every query; 1 where an answer is not Spark's."""
    texts = json.loads((POOL / "queries.json").read_text())
    answers = {name: Answer(**found) for name, found in json.loads((POOL / "answers.json").read_text()).items()}
    prove_tls()
    spark = session.attach()
    for table in paths.TABLES["tpch"]:
        spark.read.parquet(f"/data/{table}").createOrReplaceTempView(table)
    results = []
    print(f"{'query':<6} {'rows':>6} {'pool s':>8}  result", flush=True)
    for name, text in texts.items():
        result = tpch.check(spark, name, answers[name], text)
        results.append(result)
        print(f"{name:<6} {result.rows:>6} {result.seconds:>8.2f}  {result.difference or 'equal'}", flush=True)
    spark.stop()
    print(tpch.summary(results), flush=True)
    return 0 if all(result.difference is None for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
