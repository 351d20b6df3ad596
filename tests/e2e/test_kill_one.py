"""What kill-one counts: a run whose query was over before the kill is a run, but no kill in the middle, and never a success."""
import types

import pytest

from cne_e2e import kill_one
from cne_e2e.kill_one import Run


@pytest.mark.parametrize("runs, line, code", [
    ([Run(True, "right")] * 2, "kill-one: runs 2, killed mid-query 2, right 2, wrong 0, hung 0", 0),
    ([Run(True, "right"), Run(False, "right")], "kill-one: runs 2, killed mid-query 1, right 2, wrong 0, hung 0", 1),
    ([Run(True, "right"), Run(True, "row 3 differs")], "kill-one: runs 2, killed mid-query 2, right 1, wrong 1, hung 0", 1),
    ([Run(True, "hung"), Run(True, "right")], "kill-one: runs 2, killed mid-query 2, right 1, wrong 0, hung 1", 1),
    ([Run(True, "right")], "kill-one: runs 1, killed mid-query 1, right 1, wrong 0, hung 0", 1),
])
def test_summary(runs, line, code):
    assert kill_one.summary(runs, 2) == (line, code)


@pytest.mark.parametrize("before, after, killed", [
    (("running", 1), ("running", 0), True),
    (("running", 1), ("failed", 0), True),
    (("running", 1), ("succeeded", 0), False),  # it ended while the executor was being killed
    (("running", 0), ("running", 0), False),    # all its tasks were done
    (("succeeded", 0), ("succeeded", 0), False),
])
def test_killed_mid_query(before, after, killed):
    now, victims = [before], []

    def kill(name):
        victims.append(name)
        now[0] = after

    def query_list():
        return [{"query_id": "q", "state": now[0][0], "tasks_running": now[0][1], "tasks_done": 1}]

    pool = types.SimpleNamespace(query_list=list, kill=kill)
    query = kill_one.Running(pool, None, "q1", None)
    query.join = lambda seconds: None
    pool.query_list = query_list
    assert kill_one.kill_in(pool, query, "executor-1") is killed and victims == ["executor-1"]


def test_killed_between_a_subquery_and_its_query():
    found = [[("sub", "running", 1)], [("sub", "succeeded", 0)], [("sub", "succeeded", 0), ("main", "succeeded", 0)]]

    def query_list():
        now = found.pop(0)
        return [{"query_id": i, "state": state, "tasks_running": running, "tasks_done": 1} for i, state, running in now]

    pool = types.SimpleNamespace(query_list=list, kill=lambda name: None)
    query = kill_one.Running(pool, None, "q15", None)
    query.join = lambda seconds: None
    pool.query_list = query_list
    assert kill_one.kill_in(pool, query, "executor-1") is True
