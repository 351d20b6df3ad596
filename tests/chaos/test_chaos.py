"""The harness itself: what its last line counts, what it takes for a rerun, and a slice of it with real processes."""
import re
import subprocess
import sys

import pytest
from cne_chaos import kinds, ledger, report, restart_scheduler, scale_in
from cne_chaos.__main__ import plan
from cne_chaos.kinds import Run
from cne_e2e.s3proxy import Request


def runs(*outcomes, fired: bool = True, reruns: int = 0):
    return [Run(i, "kill write", "q1", fired=fired, outcome=o, reruns=reruns) for i, o in enumerate(outcomes)]


RIGHT = ["right"] * 19


@pytest.mark.parametrize("found, line, code", [
    (runs(*RIGHT, "failed-typed"), "runs 20, right 19, fired 20, wrong 0, hung 0, failed-typed 1, tasks rerun after commit 0", 0),
    (runs(*RIGHT[1:], "failed-typed", "failed-typed"), "runs 20, right 18, fired 20, wrong 0, hung 0, failed-typed 2, tasks rerun after commit 0", 1),
    (runs(*RIGHT, "row 3 is not Spark's"), "runs 20, right 19, fired 20, wrong 1, hung 0, failed-typed 0, tasks rerun after commit 0", 1),
    (runs(*RIGHT, "hung"), "runs 20, right 19, fired 20, wrong 0, hung 1, failed-typed 0, tasks rerun after commit 0", 1),
    (runs(*RIGHT) + runs("right", reruns=1), "runs 20, right 20, fired 20, wrong 0, hung 0, failed-typed 0, tasks rerun after commit 1", 1),
    (runs(*RIGHT[:-2]) + runs(*RIGHT[:3], fired=False), "runs 20, right 20, fired 17, wrong 0, hung 0, failed-typed 0, tasks rerun after commit 0", 1),
    (runs(*RIGHT), "runs 19, right 19, fired 19, wrong 0, hung 0, failed-typed 0, tasks rerun after commit 0", 1),
])
def test_summary(found, line, code):
    assert report.summary(found, 20) == (line, code)


QUERY = "d14f2582-cd84-4365-8e4f-a0489de6ce34"


def put(name: str, at: float, status: int = 200) -> Request:
    return Request("executor-1", "PUT", "PUT commit", f"test/pool/3/{QUERY}-9f/1/{name}", at - 1, status=status, answered=at)


def test_rerun_is_a_start_after_the_commit():
    log = [f'2026-11-30T12:00:00.000000Z  INFO cne_executor::engine: task started query="{QUERY}" stage=1 partition=0 attempt=0',
           f'2026-11-30T12:00:09.000000Z  INFO cne_executor::engine: task started query="{QUERY}" stage=1 partition=0 attempt=1',
           f'2026-11-30T12:00:09.000000Z  INFO cne_executor::engine: task started query="{QUERY}" stage=2 partition=0 attempt=1',
           f'2026-11-30T12:00:09.500000Z  INFO cne_executor::engine: task found committed query="{QUERY}" stage=1 partition=0 attempt=2', "a line"]
    starts = ledger.starts(log)
    second = starts[1]
    assert [s.output for s in starts] == [(QUERY, "1", "0"), (QUERY, "1", "0"), (QUERY, "2", "0")]
    # Refused ones are no commits, and the first one that was accepted counts.
    requests = [put("0/commit-0", second.time - 8, 503), put("0/commit-0", second.time - 2), put("0/commit-0", second.time + 5, 412)]
    assert ledger.reruns(ledger.commits(requests), starts) == [second]
    assert ledger.reruns(ledger.commits(requests[:1]), starts) == []


def test_what_is_made_again_under_another_name():
    def outputs(query: str, count: int) -> set[tuple]:
        return {(query, "1", str(i)) for i in range(count)}

    def again(committed: set[tuple], started: set[tuple]) -> int:
        return ledger.under_other_names(dict.fromkeys(committed, 0.0), [ledger.Start(o, 0) for o in started], outputs("a", 4))

    assert again(outputs("b", 4), outputs("b", 4)) == 0
    assert again(outputs("b", 1) | outputs("c", 4), outputs("b", 2) | outputs("c", 4)) == 1
    # Of an earlier query, written behind it.
    assert again(outputs("earlier", 3) | outputs("b", 4), outputs("b", 4)) == 0


@pytest.mark.parametrize("found, line, code", [
    ([scale_in.Run(True, "right")] * 2, "scale-in: runs 2, right 2, wrong 0, drained mid-query 2, tasks rerun after commit 0", 0),
    ([scale_in.Run(True, "right"), scale_in.Run(False, "right")], "scale-in: runs 2, right 2, wrong 0, drained mid-query 1, tasks rerun after commit 0", 1),
    ([scale_in.Run(True, "right"), scale_in.Run(True, "hung")], "scale-in: runs 2, right 1, wrong 1, drained mid-query 2, tasks rerun after commit 0", 1),
    ([scale_in.Run(True, "right"), scale_in.Run(True, "right", 1)], "scale-in: runs 2, right 2, wrong 0, drained mid-query 2, tasks rerun after commit 1", 1),
])
def test_scale_in_summary(found, line, code):
    assert scale_in.summary(found, 2) == (line, code)


@pytest.mark.parametrize("found, line, code", [
    ([restart_scheduler.Run(True, "right")] * 2, "restart-scheduler: runs 2, right 2, stages rerun 0", 0),
    ([restart_scheduler.Run(True, "right"), restart_scheduler.Run(False, "right")], "restart-scheduler: runs 2, right 2, stages rerun 0", 1),
    ([restart_scheduler.Run(True, "right"), restart_scheduler.Run(True, "row 1")], "restart-scheduler: runs 2, right 1, stages rerun 0", 1),
    ([restart_scheduler.Run(True, "right"), restart_scheduler.Run(True, "right", 2)], "restart-scheduler: runs 2, right 2, stages rerun 2", 1),
])
def test_restart_scheduler_summary(found, line, code):
    assert restart_scheduler.summary(found, 2) == (line, code)


def test_logs_in_json_and_logs_without_starts():
    line = ('{"timestamp":"2026-11-30T12:00:00Z","level":"INFO","fields":{"message":"task started","query":"q","stage":1,"partition":7},'
            '"target":"cne_executor::engine"}')
    assert [s.output for s in ledger.starts([line, "{broken task"])] == [("q", "1", "7")]
    done = '2026-11-30T12:00:09.000000Z  INFO cne_executor::engine: task done query="j" stage=4 partition=0 attempt=0 rows=1 ms=1500 won=true'
    begun, ended = ledger.starts([done])[0], ledger.events([done])[0][1]["time"]
    assert ended - begun.time == pytest.approx(1.5)


def test_every_kind_has_its_share():
    import random

    planned = plan(500, random.Random(1), kinds.NAMES, ["q1", "shuffle"], ["store", "store+objects", "write-behind"])
    assert sorted(r.number for r in planned) == list(range(1, 501))
    assert min(sum(r.kind == k for r in planned) for k in kinds.NAMES) >= 500 // len(kinds.NAMES) >= 20
    # All of one mode, then all of the next one.
    behind = [r.mode == "write-behind" for r in planned]
    assert behind == sorted(behind) and 100 < sum(behind) < 200
    small = {r.kind for r in planned if r.mode == "store"}
    assert "kill commit" in small and not small & (kinds.DATA_ONLY | kinds.IN_OBJECTS_ONLY)


def test_slice():
    """Twenty faults on real processes. How many fire depends on the machine; that none gives a wrong answer or hangs does not."""
    done = subprocess.run([sys.executable, "-m", "cne_chaos", "20", "7", "--queries", "q3,q9,shuffle", "--mode", "store,store+objects"], stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    found = re.fullmatch(r"runs 20, right (\d+), fired (\d+), wrong 0, hung 0, failed-typed (\d+), tasks rerun after commit 0",
                         done.stdout.splitlines()[-1])
    assert found, done.stdout
    right, fired, _ = map(int, found.groups())
    assert right >= 17 and fired >= 15, done.stdout
