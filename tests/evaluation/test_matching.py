from __future__ import annotations

from typing import Any

import pytest

from fasttool.evaluation.matching import BoundCall, ExpectedCall, match_call, match_calls


def verdict(given: dict[str, Any], accepted: dict[str, list[Any]], required: tuple[str, ...] = ()) -> str:
    """The reason why a call is wrong; "" where it is right."""
    found = match_call(BoundCall("f", given), ExpectedCall("f", accepted, frozenset(required)))
    assert found.right == (found.reason == "")
    return found.reason


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        (5, [5]),
        (5, [4, 5]),
        (5, [5.0]),
        (5.0, [5]),
        (True, [True]),
        ("km/h", ["KMH"]),
        ("April 1, 2024", ["april 1 2024"]),
        ("x**2", ["x^2"]),
        ("it's", ['it"s']),
        ("", [""]),
        (None, [None]),
        ([1, 2.0], [[1.0, 2]]),
        (["New York", "L.A."], [["new york", "la"]]),
        ([], [[]]),
        ([["a"], ["B"]], [[["A"], ["b"]]]),
        ({"city": "Paris", "days": 3}, [{"city": ["Paris", "Lyon"], "days": [3]}]),
        ({"city": "Paris"}, [{"city": ["paris"], "days": ["", 3]}]),
        ({"at": {"x": 1}}, [{"at": [{"x": 1}]}]),
        ({"at": {"x": 1}}, [{"at": [{"x": [1, 2]}]}]),
        ([{"a": 1}, {"a": 2}], [[{"a": [1]}, {"a": [2]}]]),
    ],
)
def test_a_value_among_the_accepted_ones_is_right(value: Any, accepted: list[Any]) -> None:
    assert verdict({"a": value}, {"a": accepted}) == ""


@pytest.mark.parametrize(
    ("value", "accepted", "reason"),
    [
        (6, [4, 5], '"a" is 6, accepted: 4 or 5.'),
        (1, [True], '"a" is 1, accepted: True.'),
        (True, [1], '"a" is True, accepted: 1.'),
        ("5", [5], "\"a\" is '5', accepted: 5."),
        (5, ["5"], "\"a\" is 5, accepted: '5'."),
        ("km h!", ["kmh"], "\"a\" is 'km h!', accepted: 'kmh'."),
        (None, ["", "x"], "\"a\" is None, accepted: 'x'."),
        ("", ["x"], "\"a\" is '', accepted: 'x'."),
        ("y", [""], "\"a\" is 'y', accepted: nothing."),
        ([1, 2], [[2, 1]], '"a" is [1, 2], accepted: [2, 1].'),
        ([1], [[1, 2]], '"a" is [1], accepted: [1, 2].'),
        ("ab", [["a", "b"]], "\"a\" is 'ab', accepted: ['a', 'b']."),
        ({"x": 1, "y": 1}, [{"x": [1]}], "\"a\" is {'x': 1, 'y': 1}, accepted: {'x': [1]}."),
        ({}, [{"x": [1]}], "\"a\" is {}, accepted: {'x': [1]}."),
        ({"x": 2}, [{"x": [1]}], "\"a\" is {'x': 2}, accepted: {'x': [1]}."),
    ],
)
def test_any_other_value_is_wrong(value: Any, accepted: list[Any], reason: str) -> None:
    assert verdict({"a": value}, {"a": accepted}) == reason


def test_an_argument_may_be_absent_only_where_the_empty_text_is_accepted() -> None:
    assert verdict({}, {"a": ["", 1]}) == ""
    assert verdict({}, {"a": [1]}) == 'The argument "a" is missing.'


def test_a_required_argument_must_be_given_whatever_is_accepted() -> None:
    assert verdict({}, {"a": ["", 1]}, required=("a",)) == 'The required argument "a" is missing.'


def test_an_argument_that_is_not_expected_is_wrong() -> None:
    assert verdict({"a": 1, "b": 2}, {"a": [1]}) == 'The argument "b" is not expected.'


def test_a_long_value_is_shown_short() -> None:
    assert len(verdict({"a": "x" * 1000}, {"a": ["y" * 1000]})) < 200


def test_another_function_is_wrong() -> None:
    assert match_call(BoundCall("g", {}), ExpectedCall("f", {})).reason == "g was called, f expected."


ONE = ExpectedCall("f", {"a": [1]})
TWO = ExpectedCall("f", {"a": [2]})


@pytest.mark.parametrize(
    ("calls", "expected", "reason"),
    [
        ([], [], ""),
        ([("f", 1)], [ONE], ""),
        ([("f", 2), ("f", 1)], [ONE, TWO], ""),
        ([("f", 1), ("f", 1)], [ONE, TWO], '"a" is 1, accepted: 2.'),
        ([], [ONE], "no call made, 1 call expected."),
        ([("f", 1)], [], "1 call made, no call expected."),
        ([("f", 1), ("f", 1)], [ONE], "2 calls made, 1 call expected."),
        ([("g", 1), ("f", 3)], [ONE, ExpectedCall("g", {"a": [1]})], '"a" is 3, accepted: 1.'),
        ([("g", 1), ("h", 3)], [ONE, TWO], "g was called, f expected."),
    ],
)
def test_calls_match_in_any_order(
    calls: list[tuple[str, int]], expected: list[ExpectedCall], reason: str
) -> None:
    found = match_calls([BoundCall(name, {"a": value}) for name, value in calls], expected)
    assert (found.right, found.reason) == (reason == "", reason)
