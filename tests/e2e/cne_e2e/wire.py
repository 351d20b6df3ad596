"""Requests by hand, for what a right driver never sends: a few lines of protobuf encoding, field numbers from query.proto."""
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
