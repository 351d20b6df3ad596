"""What shuffle-requests counts: the keys of the large shuffle alone, and its exit code."""
from collections import Counter

import pytest

from cne_e2e import shuffle_requests
from cne_e2e.s3proxy import Request


def request(verb: str, kind: str, task: int, name: str, size: int = 0, stage: int = 1, status: int = 200) -> Request:
    sent, received = (0, size) if verb == "GET" else (size, 0)
    return Request("e", verb, kind, f"test/pool/a/job/{stage}/{task}/{name}", 0, sent=sent, received=received, status=status)


def shuffle(puts: int = 1, gets: int = 20):
    out = []
    for task in range(200):
        out += [request("PUT", "PUT data", task, f"data-{i}", 100) for i in range(puts)] + [request("PUT", "PUT commit", task, "commit", 10)]
        out += [request("GET", "GET data", task, "data-0", 5) for _ in range(gets)]
        out += [request("PUT", "PUT data", task, "data-0", 1, stage=2), request("GET", "GET data", task, "data-0", 1, stage=2)]
    return out


@pytest.mark.parametrize("requests, puts, gets, code", [
    (shuffle(), "2.00", 4000, 0),
    (shuffle() + [request("PUT", "PUT data", 3, "data-1", status=500)], "2.00", 4000, 0),
    (shuffle(puts=2), "3.00", 4000, 1),
    (shuffle(gets=21), "2.00", 4200, 1),
])
def test_summary(requests, puts, gets, code):
    line, found = shuffle_requests.summary(requests, Counter(DELETE=3, LIST=4))
    assert found == code and line.endswith("of all keys: DELETEs 3, LISTs 4")
    assert line.startswith("shuffle-requests: map tasks 200, reduce partitions 200, bytes ")
    assert f", PUTs per map task {puts}, GETs {gets} of {gets * 5} bytes;" in line


def test_nothing_is_no_success():
    assert shuffle_requests.summary([], Counter())[1] == 1
