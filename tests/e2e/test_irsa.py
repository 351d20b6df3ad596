"""The identity of executors against a real token service: all cases that do not wait (`just irsa-test` has the others)."""
import re
import subprocess
import sys


def test_identities():
    # A process of its own: its Spark session sees a bucket that the others do not.
    ran = subprocess.run([sys.executable, "-m", "cne_e2e.irsa", "--quick"], stdout=subprocess.PIPE, text=True, timeout=900)
    last = ran.stdout.strip().splitlines()[-1]
    found = re.match(r"irsa: cases (\d+), right (\d+), ", last)
    assert ran.returncode == 0 and found and found.group(1) == found.group(2), ran.stdout
