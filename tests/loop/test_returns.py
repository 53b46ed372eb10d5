"""When a round of calls ends the run: every combination of up to three calls."""

from __future__ import annotations

import itertools

import pytest

from fasttool.loop.returns import returns_immediately
from fasttool.specification import ReturnBehavior as B

ROWS = [
    ([B.TO_LLM], False),
    ([B.IMMEDIATE], True),
    ([B.IMMEDIATE_IF_LAST], True),
    ([B.TO_LLM, B.TO_LLM], False),
    ([B.TO_LLM, B.IMMEDIATE], False),
    ([B.IMMEDIATE, B.TO_LLM], False),
    ([B.IMMEDIATE, B.IMMEDIATE], True),
    ([B.TO_LLM, B.IMMEDIATE_IF_LAST], True),
    ([B.IMMEDIATE_IF_LAST, B.TO_LLM], False),
    ([B.IMMEDIATE, B.IMMEDIATE_IF_LAST], True),
    ([B.IMMEDIATE_IF_LAST, B.IMMEDIATE], True),
    ([B.IMMEDIATE_IF_LAST, B.IMMEDIATE_IF_LAST], True),
]


@pytest.mark.parametrize(("behaviors", "expected"), ROWS)
def test_rows(behaviors: list[B], expected: bool):
    assert returns_immediately(behaviors, failed=False) is expected
    assert returns_immediately(behaviors, failed=True) is False


def test_no_calls():
    assert returns_immediately([], failed=False) is False


@pytest.mark.parametrize("behaviors", list(itertools.product(B, repeat=3)))
def test_three_calls(behaviors: tuple[B, ...]):
    last_decides = behaviors[2] is B.IMMEDIATE_IF_LAST
    none_is_for_the_model = all(behavior is not B.TO_LLM for behavior in behaviors)
    assert returns_immediately(behaviors, failed=False) is (last_decides or none_is_for_the_model)
