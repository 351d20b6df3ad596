"""Says whether an answer equals plain Spark's: the same schema, the same multiset of rows with exact values (DOUBLE within 1e-9
relative), the same sequence of ORDER BY keys; under LIMIT any choice among ties that Spark's unlimited answer allows."""
import json
import math
from collections import defaultdict
from dataclasses import dataclass, field

RELATIVE = 1e-9


@dataclass
class Answer:
    """What a query returned. Rows are encoded (values.py)."""

    # Column names and Spark's simple type names.
    schema: list
    rows: list
    # Indices of the output columns that the outermost ORDER BY sorts by; empty for an answer without order.
    order: list = field(default_factory=list)
    # For an outermost LIMIT: every row of the same query without it.
    unlimited: list | None = None
    # Spark's error class, for a query that has no rows but an error.
    error: str | None = None


def _split(value, doubles: list):
    """Moves the doubles out of a value, leaving a mark: the rest is compared exactly and can be hashed."""
    if isinstance(value, dict):
        if "double" in value:
            number = float(value["double"])
            # NaN and infinities have no distance, and the sign of zero is part of Spark's answer: exact.
            if math.isnan(number) or math.isinf(number) or number == 0:
                return value
            doubles.append(number)
            return "#double"
        return {k: _split(v, doubles) for k, v in value.items()}
    if isinstance(value, list):
        return [_split(v, doubles) for v in value]
    return value


def _key(row) -> tuple:
    doubles: list = []
    # The tag in JSON text keeps 1 and true apart, which Python's == does not.
    return json.dumps(_split(row, doubles), sort_keys=True), tuple(doubles)


def _close(a: tuple, b: tuple) -> bool:
    return len(a) == len(b) and all(abs(x - y) <= RELATIVE * max(abs(x), abs(y)) for x, y in zip(a, b))


def same_row(a, b) -> bool:
    """Whether two encoded rows are equal."""
    (exact_a, doubles_a), (exact_b, doubles_b) = _key(a), _key(b)
    return exact_a == exact_b and _close(doubles_a, doubles_b)


def _sort_key(value):
    """A value as ORDER BY sees it: -0.0 and 0.0 are equal, so either may come first."""
    return {"double": "0.0"} if value == {"double": "-0.0"} else value


def _unmatched(rows, pool) -> tuple[list, list]:
    """Takes for every row an equal one out of the pool; returns the rows without a partner and what is left of the pool."""
    groups = defaultdict(list)
    for row in pool:
        exact, doubles = _key(row)
        groups[exact].append((doubles, row))
    for group in groups.values():
        group.sort(key=lambda item: item[0], reverse=True)
    lonely = []
    # Sorted on both sides, so that the partner is nearly always the last one: the loop is linear, not quadratic.
    for row, (exact, doubles) in sorted(((r, _key(r)) for r in rows), key=lambda item: item[1][1]):
        group = groups[exact]
        at = next((i for i in range(len(group) - 1, -1, -1) if _close(group[i][0], doubles)), None)
        if at is None:
            lonely.append(row)
        else:
            group.pop(at)
    return lonely, [row for group in groups.values() for _, row in group]


def difference(want: Answer, got: Answer) -> str | None:
    """The first difference in words, or None when `got` is a right answer."""
    if want.schema != got.schema:
        return f"schema: want {want.schema}, got {got.schema}"
    if len(want.rows) != len(got.rows):
        return f"{len(got.rows)} rows instead of {len(want.rows)}"
    for i, (a, b) in enumerate(zip(want.rows, got.rows)):
        keys_a, keys_b = [_sort_key(a[c]) for c in want.order], [_sort_key(b[c]) for c in want.order]
        if not same_row(keys_a, keys_b):
            return f"order: row {i + 1} has keys {keys_b}, want {keys_a}"
    if want.unlimited is None:
        lonely, left = _unmatched(got.rows, want.rows)
        if lonely:
            return f"row {lonely[0]} is not Spark's; Spark has {left[0]}"
        return None
    lonely, _ = _unmatched(got.rows, want.unlimited)
    if lonely:
        return f"row {lonely[0]} is not in Spark's answer without LIMIT"
    return None
