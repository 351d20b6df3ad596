"""Requests and tickets by hand, for what a right driver never sends: a few lines of protobuf encoding, field numbers from query.proto,
task.proto and Comet's messages."""
import hashlib
import hmac
import re

from . import paths


def varint(value: int) -> bytes:
    """Base-128 encoding."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """A varint field."""
    return varint(field << 3) + varint(value)


def blob(field: int, value: bytes | str) -> bytes:
    """A length-delimited field."""
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def fingerprint() -> str:
    """The fingerprint both sides must have: the one in driver facts and tests of the `proto` crate."""
    text = (paths.ROOT / "proto" / "src" / "fingerprint.rs").read_text()
    return re.search(r"\b[0-9a-f]{64}\b", text).group()


def inline_stage(data: bytes = b"") -> bytes:
    """A stage of inline data with one partition."""
    return blob(1, "LocalTableScan") + blob(13, blob(1, data))


def rows_stage(rows: int) -> bytes:
    """A stage of `rows` consecutive BIGINTs in one partition."""
    import pyarrow as pa

    batch = pa.record_batch([pa.array(range(rows), pa.int64())], ["a"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        for at in range(0, rows, 8192):
            writer.write_batch(batch.slice(at, 8192))
    return inline_stage(sink.getvalue().to_pybytes())


def scan_stage(options: dict, file: str = "s3a://bucket/t/a.parquet") -> bytes:
    """A stage that scans one BIGINT column of a Parquet file, with options of the object store."""
    column = blob(1, "a") + blob(2, number(1, 4)) + number(3, 1)
    common = blob(1, column) + blob(2, column) + blob(5, varint(0))
    for key, value in options.items():
        common += blob(10, blob(1, key) + blob(2, value))
    partition = blob(2, blob(1, blob(1, file) + number(3, 100) + number(4, 100)))
    block = blob(1, blob(111, b"")) + blob(2, blob(1, common) + blob(2, partition))
    return blob(1, "CometNativeScan") + blob(10, block)


def nested_stage(depth: int) -> bytes:
    """A stage with projections inside each other."""
    operator = blob(100, b"")
    for _ in range(depth):
        operator = blob(1, operator) + blob(101, b"")
    return blob(1, "CometProject") + blob(10, blob(1, operator))


def fields(data: bytes) -> dict[int, bytes | int]:
    """The fields of a message that has each at most once, as numbers or bytes (a double: its eight)."""
    def read(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            byte = data[at]
            value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                return value, at

    at, out = 0, {}
    while at < len(data):
        key, at = read(at)
        if key & 7 == 1:
            value, at = data[at:at + 8], at + 8
        else:
            value, at = read(at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        out[key >> 3] = value
    return out


def signed(ticket: dict[int, bytes | int], key: str) -> bytes:
    """A ticket of these fields, signed with a pool's key (`id:hex`) as the scheduler signs it."""
    name, secret = key.split(":")
    body = b"".join(number(n, v) if isinstance(v, int) else blob(n, v) for n, v in ticket.items())
    mac = hmac.new(bytes.fromhex(secret), name.encode() + b"\0" + body, hashlib.sha256).digest()
    return blob(1, body) + blob(2, name) + blob(3, mac)


def request(query_id: str, **changes) -> bytes:
    """A request of one inline stage that only its `changes` make wrong."""
    values = {"comet_version": paths.COMET_VERSION, "schema_fingerprint": fingerprint(), "spark_version": paths.SPARK_VERSION,
              "stages": [inline_stage()], "config": {}, "extra": b""} | changes
    out = blob(1, query_id) + blob(2, values["comet_version"]) + blob(3, values["schema_fingerprint"])
    out += blob(4, values["spark_version"]) + blob(5, "e2e")
    for key, value in values["config"].items():
        out += blob(6, blob(1, key) + blob(2, value))
    for stage in values["stages"]:
        out += blob(7, stage)
    return out + values["extra"]


def submit(address: str, data: bytes, timeout: float = 20):
    """PollFlightInfo is not in pyarrow: submits by GetFlightInfo. Raises the client's error."""
    from pyarrow import flight

    with flight.connect(f"grpc://{address}") as client:
        return client.get_flight_info(flight.FlightDescriptor.for_command(data), flight.FlightCallOptions(timeout=timeout))
