"""Binders of tools that are known by their schema alone."""

from __future__ import annotations

from typing import Any

import pytest

from fasttool.errors import ToolArgumentsError
from fasttool.specification import ToolSpecification
from fasttool.tools import bind_schema

ALTERNATIVES = {
    "type": "object",
    "oneOf": [
        {"properties": {"path": {"type": "string"}}, "required": ["path"]},
        {"properties": {"id": {"type": "integer"}}, "required": ["id"]},
    ],
}
DEPENDENT = {
    "type": "object",
    "properties": {"card": {"type": "string"}, "address": {"type": "string"}},
    "dependentRequired": {"card": ["address"]},
}


def binder(parameters: Any, **options: Any) -> Any:
    return bind_schema(ToolSpecification("pay", parameters=parameters), **options)


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object", "properties": {}}])
@pytest.mark.parametrize("arguments", [None, "", "null", "{}", b"{}", {}])
def test_nothing_is_enough_for_a_tool_without_parameters(parameters: Any, arguments: Any) -> None:
    assert binder(parameters).bind(arguments) == {}


@pytest.mark.parametrize("arguments", ['{"id": "5"}', b'{"id": 5}', {"id": 5.0}, '```json\n{"id": 5}\n```'])
def test_alternatives_of_the_whole_are_told_apart(arguments: Any) -> None:
    assert binder(ALTERNATIVES).bind(arguments) == {"id": 5}


def test_long_integers_keep_their_digits_in_alternatives() -> None:
    assert binder(ALTERNATIVES).bind('{"id": 12345678901234567890}') == {"id": 12345678901234567890}


@pytest.mark.parametrize(
    ("parameters", "arguments", "text"),
    [
        (
            ALTERNATIVES,
            "{}",
            "Wrong arguments for tool pay: the arguments must be an object with path or an object with id, "
            "got an object.",
        ),
        (DEPENDENT, '{"card": "x"}', 'the arguments must have "address" where it has "card".'),
        (ALTERNATIVES, "{", "not valid JSON"),
    ],
)
def test_what_is_wrong_with_the_whole_is_told(parameters: Any, arguments: Any, text: str) -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        binder(parameters).bind(arguments)
    assert text in str(caught.value)
    assert caught.value.tool == "pay"
    assert caught.value.problems[0].path == ""


def test_what_is_bound_shares_nothing_with_the_schema() -> None:
    parameters = {"type": "object", "properties": {"a": {"const": {"k": [1]}}}}
    bind = binder(parameters)
    bind.bind({"a": {"k": [1]}})["a"]["k"].append(2)
    assert bind.bind({"a": {"k": [1]}}) == {"a": {"k": [1]}}


def test_properties_come_in_the_order_of_the_schema_and_further_ones_as_they_came() -> None:
    found = binder(DEPENDENT).bind('{"z": 1, "address": "here", "a": 2, "card": "x"}')
    assert list(found) == ["card", "address", "z", "a"]


def test_a_schema_with_patterns_keeps_the_names_that_it_mentions() -> None:
    parameters = {"type": "object", "patternProperties": {"^x": {}}}
    assert binder(parameters, forbid_extra=True).bind('{"x1": 1}') == {"x1": 1}
