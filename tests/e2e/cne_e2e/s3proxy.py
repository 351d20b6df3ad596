"""A proxy in front of an S3 server that counts requests and makes chosen ones fail.

It hands requests and answers on byte by byte. A client signs the Host header, which is the proxy's address: the server checks the
signature against the header that it gets, so nothing has to be signed anew. Each client (an executor, usually) has a port of its own, which
tells who asks.
"""
import asyncio
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

_PIECE = 256 * 1024
_HEAD = 256 * 1024
# What is answered in the server's place.
_ERRORS = {"500": ("500 Internal Server Error", "InternalError"), "503": ("503 Slow Down", "SlowDown"),
           # What S3 says of a session that was revoked, and what AWS says of one that has ended.
           "revoked": ("403 Forbidden", "InvalidAccessKeyId"), "expired": ("400 Bad Request", "ExpiredToken")}


@dataclass
class Request:
    """One request: `kind` is what it is to the pool, e.g. `PUT data`, `PUT part`, `PUT commit`, `GET data`, `LIST`, `DELETE`."""

    client: str
    verb: str
    kind: str
    # Bucket and key, without the query.
    path: str
    time: float
    ranged: bool = False
    # Bytes of the bodies, as far as they went through.
    sent: int = 0
    received: int = 0
    # The server's answer, and when it came; 0 while there is none.
    status: int = 0
    answered: float = 0
    # Whose signature it has; empty without one.
    key: str = ""
    # What was done to it.
    fault: str = ""


@dataclass
class Fault:
    """What happens to the requests that `matches` chooses: after the first `skip`, `times` of them.

    `how` is 500, 503, revoked or expired (answered in the server's place), slow (`seconds` later), reset (before the server sees it), truncated (half of the
    answer's body), lost (done by the server, and the answer is a reset), before or after (`hook` is called while the request, or its answer,
    is held; afterwards it goes on, unless the hook says False: then the connection is reset)."""

    how: str
    matches: Callable[[Request], bool]
    skip: int = 0
    times: int = 1
    seconds: float = 0
    hook: Callable[[Request], bool | None] | None = None
    seen: int = 0
    # Requests that were chosen: those that fire, and those that are still on their way.
    taken: int = 0
    fired: list[Request] = field(default_factory=list)

    def take(self, request: Request) -> bool:
        """Whether this request is one to act on. Called once for each request, in order."""
        if not self.matches(request):
            return False
        self.seen += 1
        if self.seen <= self.skip or self.taken == self.times:
            return False
        self.taken += 1
        return True


def kind_of(verb: str, target: str) -> tuple[str, str]:
    """Path and kind of a request. Keys end in `commit...` for records, anything else is data."""
    url = urlsplit(target)
    query = parse_qs(url.query, keep_blank_values=True)
    path = unquote(url.path).lstrip("/")
    if verb == "GET" and ("list-type" in query or "prefix" in query or "uploads" in query):
        return path, "LIST"
    if verb == "POST":
        what = "create" if "uploads" in query else "complete" if "uploadId" in query else "delete" if "delete" in query else "other"
        return path, "DELETE" if what == "delete" else f"POST {what}"
    if verb == "DELETE":
        return path, "ABORT" if "uploadId" in query else "DELETE"
    if "partNumber" in query:
        return path, f"{verb} part"
    return path, f"{verb} {'commit' if path.rsplit('/', 1)[-1].startswith('commit') else 'data'}"


class _Gone(Exception):
    """A connection ended."""


class Proxy:
    """The proxy in a thread of its own. `upstream` is the server's host:port."""

    def __init__(self, upstream: str):
        self.host, port = upstream.split(":")
        self.port = int(port)
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.addresses: dict[str, str] = {}
        self._servers: list[asyncio.Server] = []
        self._lock, self._listening = threading.Lock(), threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="s3proxy", daemon=True)

    def __enter__(self) -> "Proxy":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def address(self, client: str) -> str:
        """host:port for this client, always the same."""
        # Not the lock that the loop takes too: it has to run meanwhile.
        with self._listening:
            if client not in self.addresses:
                made = asyncio.run_coroutine_threadsafe(self._listen(client), self._loop)
                self.addresses[client] = made.result(10)
            return self.addresses[client]

    async def _listen(self, client: str) -> str:
        server = await asyncio.start_server(lambda r, w: self._serve(client, r, w), "127.0.0.1", 0, limit=_HEAD, backlog=1024)
        self._servers.append(server)
        return "127.0.0.1:%d" % server.sockets[0].getsockname()[1]

    def arm(self, fault: Fault) -> Fault:
        """From now on; a fault acts until it has fired `times` times or is disarmed."""
        with self._lock:
            self.faults.append(fault)
        return fault

    def disarm(self) -> None:
        """No faults any more."""
        with self._lock:
            self.faults.clear()

    def counts(self, since: int = 0) -> Counter:
        """Requests by kind, of those from the `since`-th on."""
        return Counter(r.kind for r in self.requests[since:])

    def _begin(self, request: Request) -> Fault | None:
        with self._lock:
            self.requests.append(request)
            chosen = [f for f in self.faults if f.take(request)]
            return chosen[0] if chosen else None

    async def _serve(self, client: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _no_delay(writer)
        server = None
        try:
            while True:
                try:
                    head = await reader.readuntil(b"\r\n\r\n")
                except (asyncio.IncompleteReadError, ConnectionError):
                    return
                server = await self._exchange(client, head, reader, writer, server)
                if server is None:
                    return
        except (_Gone, ConnectionError, asyncio.IncompleteReadError, OSError):
            _reset(writer)
        except asyncio.CancelledError:
            pass  # the proxy ends; asyncio's own callback of a connection would report it
        finally:
            writer.close()
            if server:
                server[1].close()

    async def _exchange(self, client, head, reader, writer, server):
        """One request and its answer; returns the connection to the server while both sides keep theirs."""
        lines = head.decode("latin-1").split("\r\n")
        verb, target, _ = lines[0].split(" ", 2)
        headers = _headers(lines)
        path, kind = kind_of(verb, target)
        request = Request(client, verb, kind, path, time.time(), "range" in headers)
        request.key = _signer(headers)
        fault = self._begin(request)
        how = fault.how if fault else ""
        if how == "before":
            self._fire(fault, request)
            if await self._loop.run_in_executor(None, fault.hook, request) is False:
                raise _Gone
        elif how == "reset":
            self._fire(fault, request)
            raise _Gone
        elif how == "slow":
            self._fire(fault, request)
            await asyncio.sleep(fault.seconds)
        elif how in _ERRORS:
            if "expect" in headers:
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            await _body(reader, None, headers, request, "sent")
            status, code = _ERRORS[how]
            text = f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>made by the test</Message></Error>'.encode()
            request.status = int(status[:3])
            self._fire(fault, request)
            writer.write(f"HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nContent-Length: {len(text)}\r\n\r\n".encode()
                         + (b"" if verb == "HEAD" else text))
            await writer.drain()
            return server or await self._connect()
        if server is None or server[0].at_eof():
            server = await self._connect()
        upstream, out = server
        out.write(head)
        asks = headers.get("expect", "").lower() == "100-continue"
        if not asks:
            await _body(reader, out, headers, request, "sent")
        while True:
            answer = await upstream.readuntil(b"\r\n\r\n")
            lines = answer.decode("latin-1").split("\r\n")
            request.status = int(lines[0].split(" ", 2)[1])
            if request.status != 100:
                break
            if asks:
                writer.write(answer)
                await _body(reader, out, headers, request, "sent")
                asks = False
        request.answered = time.time()
        answered = _headers(lines)
        if verb == "HEAD" or request.status in (204, 304):
            answered = {"connection": answered.get("connection", "")}
        if how == "after":
            self._fire(fault, request)
            if await self._loop.run_in_executor(None, fault.hook, request) is False:
                raise _Gone
        elif how == "lost" and request.status < 300:
            await _body(upstream, None, answered, request, "received")
            self._fire(fault, request)
            raise _Gone
        elif how == "truncated" and int(answered.get("content-length", 0)) > 1 and request.status < 300:
            half = int(answered["content-length"]) // 2
            writer.write(answer)
            await _body(upstream, writer, {"content-length": str(half)}, request, "received")
            self._fire(fault, request)
            out.close()
            return None
        elif how in ("lost", "truncated"):
            # Not with this answer: the next request takes its place.
            fault.taken -= 1
        writer.write(answer)
        await _body(upstream, writer, answered, request, "received")
        # A client that was refused before its body sends none, or does: only a new connection is certain.
        if asks or "close" in (headers.get("connection", "").lower(), answered.get("connection", "").lower()):
            out.close()
            return None
        return server

    def _fire(self, fault: Fault, request: Request) -> None:
        request.fault = fault.how
        fault.fired.append(request)

    async def _connect(self):
        server = await asyncio.open_connection(self.host, self.port, limit=_HEAD)
        _no_delay(server[1])
        return server


def _no_delay(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Closes so that the other side sees a reset, not an end."""
    try:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass  # it is closed already
    writer.transport.abort()


def _headers(lines: list[str]) -> dict[str, str]:
    return {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:] if line)}


def _signer(headers: dict[str, str]) -> str:
    """The access key of a signature."""
    return headers.get("authorization", "").partition("Credential=")[2].partition("/")[0]


async def _body(reader, writer, headers: dict[str, str], request: Request, count: str) -> None:
    """Hands a body on (or drops it, without a writer), as its headers say how long it is."""
    async def give(data: bytes) -> None:
        setattr(request, count, getattr(request, count) + len(data))
        if writer:
            writer.write(data)
            await writer.drain()

    if headers.get("transfer-encoding", "").lower() == "chunked":
        while True:
            line = await reader.readuntil(b"\r\n")
            size = int(line.split(b";")[0], 16)
            await give(line + await reader.readexactly(size + 2) if size else line)
            if not size:
                # Trailers, and the empty line that ends them.
                while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
                    await give(line)
                await give(line)
                return
    left = int(headers.get("content-length") or 0)
    if writer:
        await writer.drain()
    while left:
        data = await reader.read(min(left, _PIECE))
        if not data:
            raise _Gone
        left -= len(data)
        await give(data)
