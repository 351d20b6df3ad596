"""Mutual TLS and tenants. In a process of its own: a Spark session there has other settings than the one here."""
import subprocess
import sys


def test_every_link_refuses_whom_it_should_and_certificates_are_exchanged_under_queries():
    run = subprocess.run([sys.executable, "-m", "cne_e2e.tls"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    assert run.returncode == 0, run.stdout[-4000:]
    assert run.stdout.splitlines()[-1].startswith("tls: links 5, refusals 30 of 30, exchanges of certificates 3, queries ")
