"""The comparison itself: what must be equal is, and every kind of wrong answer is noticed."""
import datetime
import decimal

import pytest

from cne_e2e.compare import Answer, difference
from cne_e2e.values import encode_rows

SCHEMA = [["k", "int"], ["v", "double"]]


def made(rows, **more):
    return Answer(schema=SCHEMA, rows=encode_rows(rows), **more)


def test_order_of_rows_is_free_without_order_by_and_doubles_have_a_tolerance():
    want = made([(1, 1.0), (1, 2.0), (2, float("nan")), (3, None)])
    assert difference(want, made([(3, None), (1, 2.0 + 1e-10), (2, float("nan")), (1, 1.0)])) is None


@pytest.mark.parametrize("wrong", [
    [(1, 1.0), (1, 1.0), (2, float("nan")), (3, None)],         # a row twice, another one missing
    [(1, 1.0), (1, 2.0 + 1e-8), (2, float("nan")), (3, None)],  # outside the tolerance
    [(1, 1.0), (1, 2.0), (2, None), (3, None)],                 # NULL for NaN
    [(1, 1.0), (1, 2.0), (2, float("nan"))],                    # too few
    [(1, 1.0), (1, 2.0), (2, float("nan")), (3, 0.0)],          # a value for NULL
    [(1, 1.0), (True, 2.0), (2, float("nan")), (3, None)],      # another type
])
def test_wrong_rows_are_noticed(wrong):
    assert difference(made([(1, 1.0), (1, 2.0), (2, float("nan")), (3, None)]), made(wrong))


def test_types_scale_and_sign_of_zero_are_part_of_the_value():
    for a, b in ((decimal.Decimal("1.0"), decimal.Decimal("1.00")), (0.0, -0.0), (b"a", "a"), (1, 1.0),
                 (datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)), ([1], (1,))):
        assert difference(made([(1, a)]), made([(1, b)]))
    assert difference(made([]), Answer(schema=[["k", "bigint"], ["v", "double"]], rows=[]))


def test_order_is_checked_on_the_keys_only():
    want = made([(1, 1.0), (1, 2.0), (2, 3.0)], order=[0])
    assert difference(want, made([(1, 2.0), (1, 1.0), (2, 3.0)])) is None
    assert "order" in difference(want, made([(2, 3.0), (1, 1.0), (1, 2.0)]))


def test_ties_under_limit_may_be_chosen_freely_but_not_invented():
    want = made([(1, 1.0), (2, 2.0)], order=[0], unlimited=encode_rows([(1, 1.0), (2, 2.0), (2, 2.5), (3, 9.0)]))
    assert difference(want, made([(1, 1.0), (2, 2.5)])) is None
    assert difference(want, made([(1, 1.0), (2, 2.6)]))
    assert difference(want, made([(1, 1.0), (3, 9.0)]))
    assert difference(want, made([(1, 1.0), (1, 1.0)]))
    assert difference(want, made([(2, 2.0), (1, 1.0)]))
