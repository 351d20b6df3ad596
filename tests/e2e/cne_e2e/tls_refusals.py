"""Who is refused on each link of a secured pool, by raw clients: nothing is answered, and the log says it once."""
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from . import pool, wire
from .certificates import Authority, Certificate
from .security import NAME, Security

LOCAL = "127.0.0.1"
# Each refusal is asked for so often, and logged once.
TIMES = 3
# A client of HTTP/2 with empty settings; whoever speaks it answers with settings (frame type 4).
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"


def trusting(ca: Path, certificate: Certificate | None = None) -> ssl.SSLContext:
    """TLS of a client."""
    context = ssl.create_default_context(cafile=str(ca))
    context.set_alpn_protocols(["h2"])
    if certificate:
        context.load_cert_chain(certificate.cert, certificate.key)
    return context


def _connected(address: str, source: str) -> socket.socket:
    host, port = address.split(":")
    stream = socket.create_connection((host, int(port)), timeout=20, source_address=(source, 0))
    stream.settimeout(20)
    return stream


def _answers(stream: socket.socket) -> bool:
    stream.sendall(_PREFACE)
    answer = stream.recv(9)
    return len(answer) == 9 and answer[3] == 4


def reached(address: str, source: str, ca: Path | None, certificate: Certificate | None = None) -> bool:
    """Whether a server of HTTP/2 answers a client of this address with this certificate; without `ca`: in plaintext."""
    try:
        with _connected(address, source) as stream:
            if ca is None:
                return _answers(stream)
            with trusting(ca, certificate).wrap_socket(stream, server_hostname=NAME) as secured:
                return _answers(secured)
    except (ssl.SSLError, ConnectionError):
        return False


def shown(address: str, ca: Path, certificate: Certificate) -> int:
    """Serial number of the certificate that a server shows; 0 when it is not trusted."""
    try:
        with _connected(address, LOCAL) as stream, trusting(ca, certificate).wrap_socket(stream, server_hostname=NAME) as secured:
            return int(secured.getpeercert()["serialNumber"], 16)
    except (ssl.SSLError, ConnectionError):
        return 0


def lines(p: pool.Pool, process: str, *words: str, text: str = "") -> list[str]:
    """Lines in a process's log with all of these words."""
    log = (p.state / f"{process}.log").read_text(errors="replace").splitlines()
    return [line for line in log if all(word in line for word in (*words, text))]


@dataclass
class Case:
    """Something that is refused: what is tried (true: it was refused as it should), and the words of its line in a log."""
    name: str
    tried: Callable[[], bool]
    process: str
    words: tuple[str, ...]

    def run(self, p: pool.Pool) -> str | None:
        """What is wrong, if anything."""
        if not all([self.tried() for _ in range(TIMES)]):
            return "not refused as it should be"
        end = time.monotonic() + 5
        while not lines(p, self.process, *self.words) and time.monotonic() < end:
            time.sleep(0.05)
        found = len(lines(p, self.process, *self.words))
        return None if found == 1 else f"{found} lines in the log of {self.process} with {self.words}"


def handshakes(p: pool.Pool, foreign: Authority) -> Iterator[Case]:
    """Connections that no port takes, and those that members' ports do not."""
    s, folder = p.security, p.security.folder
    stranger = foreign.issue(folder / "stranger", f"DNS:{NAME}")
    expired = s.pool.issue(folder / "expired-member", f"DNS:{NAME}", expired=True)
    expired_driver = s.drivers.issue(folder / "expired-driver", "DNS:acme.drivers.internal", expired=True)
    unknown, old, plain = "not of a CA that may use this port", "has expired", "does not speak TLS"
    everywhere = [("plaintext", None, None, plain), ("wrong CA", s.ca, stranger, unknown), ("expired", s.ca, expired, old)]
    links = [
        ("driver -> scheduler", p.flight, "scheduler", [*everywhere, ("expired driver", s.ca, expired_driver, old)]),
        ("driver -> executor", p.executor_flight["executor-1"], "executor-1", [*everywhere, ("expired driver", s.ca, expired_driver, old)]),
    ]
    members = [*everywhere, ("no certificate", s.ca, None, "no certificate"), ("driver's certificate", s.ca, s.clients["acme"], unknown)]
    links += [
        ("executor -> scheduler", p.internal, "scheduler", members),
        ("scheduler -> executor", p.executor_grpc["executor-1"], "executor-1", members),
    ]
    at = 0
    for link, address, process, cases in links:
        for name, ca, certificate, reason in cases:
            at += 1
            # An address of its own, so that each is logged.
            source = f"127.0.1.{at}"

            def tried(address=address, source=source, ca=ca, certificate=certificate) -> bool:
                return not reached(address, source, ca, certificate)
            yield Case(f"{link}: {name}", tried, process, ("connection refused", f"peer={source} ", reason))
    yield Case("scaler: plaintext", lambda: not reached(p.scaler, "127.0.1.99", None), "scheduler", ("connection refused", "peer=127.0.1.99 ", plain))


class Driver:
    """Calls of one who has a token, or none, and perhaps a certificate."""

    def __init__(self, s: Security, token: str | None = None, certificate: Certificate | None = None):
        from pyarrow import flight

        self.security, self.certificate = s, certificate
        headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
        self.options = flight.FlightCallOptions(timeout=30, headers=headers)

    def _client(self, address: str):
        from pyarrow import flight

        if self.certificate:
            return self.security.flight(address, self.certificate)
        return flight.connect(f"grpc+tls://{address}", tls_root_certs=self.security.ca.read_bytes(), override_hostname=NAME)

    def info(self, address: str, command: bytes = b"", query: str = ""):
        """A query's result: of a new one, or of one by its id."""
        from pyarrow import flight

        descriptor = flight.FlightDescriptor.for_path("query", query) if query else flight.FlightDescriptor.for_command(command)
        with self._client(address) as client:
            return client.get_flight_info(descriptor, self.options)

    def rows(self, address: str, ticket):
        """Rows of a ticket."""
        with self._client(address) as client:
            return client.do_get(ticket, self.options).read_all().num_rows

    def act(self, address: str, kind: str, body: bytes = b"") -> bytes:
        """An action's answer."""
        from pyarrow import flight

        with self._client(address) as client:
            return b"".join(r.body.to_pybytes() for r in client.do_action(flight.Action(kind, body), self.options))


def refuses(code: str, call: Callable) -> Callable[[], bool]:
    """Whether a call ends with a code of ours."""
    def tried() -> bool:
        from pyarrow import ArrowException

        try:
            call()
        except (ArrowException, OSError) as error:
            return code in str(error)
        return False
    return tried


def calls(p: pool.Pool) -> Iterator[Case]:
    """Calls over TLS of those who are nobody, or not the right one. First the right one is let in."""
    s, (acme, other) = p.security, p.security.tokens.values()
    of_acme, of_other = Driver(s, acme), Driver(s, other)
    nobody, liar, member = Driver(s), Driver(s, "no-such-token"), Driver(s, certificate=s.members["executor"])
    executor = p.executor_flight["executor-1"]
    query = "00000000-0000-4000-8000-000000000001"
    request = wire.request(query, stages=[wire.rows_stage(10)])
    info = of_acme.info(p.flight, request)
    ticket = info.endpoints[0].ticket
    with_certificate = Driver(s, certificate=s.clients["acme"])
    if of_acme.rows(executor, ticket) != 10 or with_certificate.rows(executor, ticket) != 10:
        raise RuntimeError("a tenant does not get its own rows")
    if not all(str(location.uri, "utf-8").startswith("grpc+tls://") for e in info.endpoints for location in e.locations):
        raise RuntimeError("the locations of a result are not TLS")
    no_tenant, no_token = "neither a token nor a client certificate", "not one of a tenant's"

    def refused(name: str, process: str, code: str, call: Callable, *words: str) -> Case:
        return Case(name, refuses(code, call), process, ("call refused", *words))

    yield refused("driver -> scheduler: no token", "scheduler", "CNE-4005", lambda: nobody.info(p.flight, request), no_tenant)
    yield refused("driver -> scheduler: unknown token", "scheduler", "CNE-4005", lambda: liar.info(p.flight, request), no_token)
    yield refused("driver -> executor: no token", "executor-1", "CNE-4005", lambda: nobody.rows(executor, ticket), no_tenant)
    yield refused("driver -> executor: unknown token", "executor-1", "CNE-4005", lambda: liar.rows(executor, ticket), no_token)
    yield refused("driver -> executor: foreign tenant's ticket", "executor-1", "CNE-4006", lambda: of_other.rows(executor, ticket), "another tenant")
    yield refused("executor -> executor: a driver asks", "executor-1", "CNE-4007", lambda: of_acme.act(executor, "comet.kept", b"x"), "Only members")

    # What is no matter of who calls is not in the log as a refusal of a caller.
    quiet = ("accepted", f"query={query}")
    cancel = wire.blob(1, wire.blob(2, wire.number(1, 1) + wire.blob(3, "query") + wire.blob(3, query)))
    renew = wire.blob(1, wire.blob(1, wire.blob(1, ticket.ticket)))
    yield Case("a foreign query: poll", refuses("CNE-1014", lambda: of_other.info(p.flight, query=query)), "scheduler", quiet)
    yield Case("a foreign query: cancel", refuses("CNE-1014", lambda: of_other.act(p.flight, "CancelFlightInfo", cancel)), "scheduler", quiet)
    yield Case("a foreign query: renew", refuses("CNE-1014", lambda: of_other.act(p.flight, "RenewFlightEndpoint", renew)), "scheduler", quiet)
    yield Case("a member is no tenant", refuses("CNE-4005", lambda: member.info(p.flight, request)), "scheduler", quiet)
    scan = wire.request("00000000-0000-4000-8000-000000000002", stages=[wire.scan_stage({}, "s3a://bucket/t/a.parquet")])
    yield Case("a prefix of nobody's", refuses("CNE-1017", lambda: of_acme.info(p.flight, scan)), "scheduler", quiet)
    of_acme.act(p.flight, "RenewFlightEndpoint", renew)


def run(p: pool.Pool) -> tuple[int, int, int]:
    """All of them: links, and refusals that were right, of how many."""
    s = p.security
    member, driver = s.members["executor"], s.clients["acme"]
    members = [p.internal, p.executor_grpc["executor-1"]]
    if not all(reached(a, LOCAL, s.ca, member) for a in [*members, p.flight, *p.executor_flight.values()]):
        raise RuntimeError("a member of the pool is not let in")
    if not all(reached(a, LOCAL, s.ca, certificate) for a in [p.flight, *p.executor_flight.values()] for certificate in (driver, None)):
        raise RuntimeError("a driver is not let in")
    if not reached(p.scaler, LOCAL, s.ca):
        raise RuntimeError("KEDA is not let in")
    cases = [*handshakes(p, Authority(s.folder / "foreign-ca", "somebody")), *calls(p)]
    right, links = 0, {case.name.split(":")[0] for case in cases if "->" in case.name}
    for case in cases:
        wrong = case.run(p)
        right += wrong is None
        print(f"{case.name}: {'refused' if wrong is None else wrong}", flush=True)
    return len(links), right, len(cases)


def main() -> None:
    """The refusals alone."""
    from . import tls

    with pool.temporary(security=tls.security) as p:
        print(run(p))


if __name__ == "__main__":
    main()
