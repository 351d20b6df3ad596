"""A slice of the autoscaling demonstration, and what its last line says."""
import re
import subprocess
import sys
import types

import pytest

from cne_e2e import autoscale, coldstart, paths


def loop(**changes):
    return types.SimpleNamespace(**({"errors": [], "most": 3, "first_executor": [70.4, 120.6]} | changes))


@pytest.mark.parametrize("found, zeros, right, line, code", [
    (loop(), [5.0, 6.04], 16, "scale 0->3->0: ok, first executor 121 ms, back to zero 6.0 s, right 16/16", 0),
    (loop(), [5.0], 15, "scale 0->3->0: FAILED (1 queries wrong), first executor 121 ms, back to zero 5.0 s, right 15/16", 1),
    (loop(most=2), [5.0], 16, "scale 0->2->0: FAILED (2 of 3 executors at most), first executor 121 ms, back to zero 5.0 s, right 16/16", 1),
    (loop(errors=["executor-1 ended with 1"]), [5.0], 16,
     "scale 0->3->0: FAILED (executor-1 ended with 1), first executor 121 ms, back to zero 5.0 s, right 16/16", 1),
    (loop(), [], 16, "scale 0->3->0: FAILED (not every burst came back to zero), first executor 121 ms, back to zero 0.0 s, right 16/16", 1),
])
def test_summary(found, zeros, right, line, code):
    assert autoscale.summary(found, 3, zeros, len(zeros) or 1, right, 16) == (line, code)


def test_coldstart_takes_the_best_round():
    rounds = [{"p50": 50.4, "p99": 90.0, "rss": 40.0, "row": 200.0}, {"p50": 51.0, "p99": 80.0, "rss": 41.0, "row": 190.0}]
    assert coldstart.summary(rounds) == "coldstart: registered p50 50 ms p99 80 ms, idle RSS 40 MiB, zero to row 190 ms"


def test_from_zero_to_two_and_back():
    # A process of its own: the JVM of this one is attached to another pool.
    run = subprocess.run([sys.executable, "-m", "cne_e2e.autoscale", "--executors", "2", "--bursts", "1", "--scale", "0.01", "--cool-down", "2s",
                          "--queries", "q1,q3,q5,q6"], cwd=paths.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    assert re.search(r"^scale 0->2->0: ok, first executor \d+ ms, back to zero [\d.]+ s, right 4/4$", run.stdout, re.M) and run.returncode == 0, run.stdout
