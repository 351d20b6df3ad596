"""Rows as plain JSON that loses nothing: types stay apart (1, 1.0, 1.00 as DECIMAL), NaN, -0.0 and byte strings survive."""
import datetime
import decimal
from typing import Any


def encode(value: Any) -> Any:
    """One value of a collected row as JSON; every class but null, bool, integer and string carries its tag."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"double": repr(value)}
    if isinstance(value, decimal.Decimal):
        # format() keeps trailing zeros (they are the scale) and never uses an exponent.
        return {"decimal": format(value, "f")}
    if isinstance(value, datetime.datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, datetime.time):
        return {"time": value.isoformat()}
    if isinstance(value, datetime.timedelta):
        return {"interval_us": round(value / datetime.timedelta(microseconds=1))}
    if isinstance(value, (bytes, bytearray)):
        return {"binary": bytes(value).hex()}
    if isinstance(value, tuple):
        return {"struct": [encode(v) for v in value]}
    if isinstance(value, list):
        return {"array": [encode(v) for v in value]}
    if isinstance(value, dict):
        # A map's entries have no order in Spark's semantics.
        return {"map": sorted(([encode(k), encode(v)] for k, v in value.items()), key=repr)}
    raise TypeError(f"no encoding for {type(value).__name__}")


def encode_rows(rows) -> list:
    """Collected rows as lists of encoded values."""
    return [[encode(v) for v in row] for row in rows]
