"""The fault proxy in front of a real server: what it counts, and that each fault happens and is told."""
import http.client
import time

import pytest

from cne_e2e import s3, s3proxy
from cne_e2e.s3proxy import Fault


@pytest.fixture(scope="module")
def server():
    with s3.Server() as server:
        yield server


@pytest.fixture
def proxy(server):
    with s3proxy.Proxy(server.address) as proxy:
        yield proxy


DATA = bytes(range(256)) * 4096


def is_get(request) -> bool:
    return request.verb == "GET" and request.kind != "LIST"


def test_hands_on_and_counts(proxy):
    c = s3.Client(proxy.address("c"))
    c.put("a/data-1", DATA)
    assert c.get("a/data-1") == DATA
    assert c.list("a/") == ["a/data-1"]
    c.delete("a/data-1")
    counts = proxy.counts()
    assert counts == {"PUT data": 1, "GET data": 1, "LIST": 1, "DELETE": 1}
    assert sum(r.received for r in proxy.requests if is_get(r)) == len(DATA)
    assert {r.client for r in proxy.requests} == {"c"} and all(r.status < 500 for r in proxy.requests)


@pytest.mark.parametrize("how", ["500", "503", "reset", "truncated"])
def test_faults_of_reads(proxy, how):
    c = s3.Client(proxy.address("c"))
    c.put("f/data-1", DATA)
    fault = proxy.arm(Fault(how, is_get, skip=1))
    assert c.get("f/data-1") == DATA
    with pytest.raises((OSError, http.client.HTTPException)):
        c.get("f/data-1")
    assert [r.fault for r in fault.fired] == [how]
    assert c.get("f/data-1") == DATA


def test_slow(proxy):
    c = s3.Client(proxy.address("c"))
    c.put("s/data-1", DATA)
    fault = proxy.arm(Fault("slow", is_get, seconds=0.5))
    start = time.monotonic()
    assert c.get("s/data-1") == DATA
    assert time.monotonic() - start > 0.5 and len(fault.fired) == 1


def test_lost_after_the_server_did_it(proxy):
    c = s3.Client(proxy.address("c"))
    c.put("l/data-1", DATA)
    fault = proxy.arm(Fault("lost", lambda r: r.kind == "DELETE"))
    with pytest.raises((OSError, http.client.HTTPException)):
        c.delete("l/data-1")
    assert [r.status for r in fault.fired] == [204]
    assert c.list("l/") == []


@pytest.mark.parametrize("how", ["before", "after"])
def test_hooks_hold_the_request(proxy, server, how):
    c = s3.Client(proxy.address("c"))
    c.put("h/data-1", b"1")
    there = []

    def hook(request):
        there.extend(server.client().list("h/"))
        return False

    proxy.arm(Fault(how, lambda r: r.kind == "DELETE", hook=hook))
    with pytest.raises((OSError, http.client.HTTPException)):
        c.delete("h/data-1")
    assert there == (["h/data-1"] if how == "before" else [])


@pytest.mark.parametrize("verb, target, kind", [
    ("PUT", "/b/p/0/q/1/2/data-0-0-ab", "PUT data"), ("PUT", "/b/p/0/q/1/2/commit", "PUT commit"), ("GET", "/b/p/0/q/1/2/commit", "GET commit"),
    ("PUT", "/b/p/data-1?partNumber=2&uploadId=x", "PUT part"), ("POST", "/b/p/data-1?uploads", "POST create"),
    ("POST", "/b/p/data-1?uploadId=x", "POST complete"), ("DELETE", "/b/p/data-1?uploadId=x", "ABORT"), ("POST", "/b?delete", "DELETE"),
    ("GET", "/b?list-type=2&prefix=p", "LIST"), ("HEAD", "/b/p/data-1", "HEAD data")])
def test_kinds(verb, target, kind):
    assert s3proxy.kind_of(verb, target)[1] == kind


def test_no_server(proxy):
    """A server that is away is a reset for the client, not a hang."""
    proxy.port = 1
    connection = http.client.HTTPConnection(proxy.address("c"), timeout=5)
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        connection.request("GET", "/test/x")
        connection.getresponse()
