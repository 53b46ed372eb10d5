"""Which methods of an object are tools."""

from __future__ import annotations

from typing import Any

import pytest

from fasttool.errors import ConfigurationError
from fasttool.tools import find_tools, tool, tool_plan


class Base:
    @tool
    def first(self) -> str:
        """First."""
        return "base first"

    @tool
    def second(self) -> str:
        """Second."""
        return "base second"

    def unmarked(self) -> str:
        return ""


class Child(Base):
    @tool
    def third(self) -> str:
        """Third."""
        return "third"

    @tool(name="renamed")
    def first(self) -> str:
        """First of the child."""
        return "child first"


class Without(Child):
    def second(self) -> str:
        return "no tool"


def names(source: Any) -> list[str]:
    return [plan.name for plan in find_tools(source)]


def test_order_and_overrides() -> None:
    assert names(Base()) == ["first", "second"]
    assert names(Child()) == ["renamed", "second", "third"]
    assert names(Without()) == ["renamed", "third"]
    assert [plan.call(None).text for plan in find_tools(Child())] == ["child first", "base second", "third"]


def test_other_sources() -> None:
    plan = tool_plan(Base().first)
    assert find_tools(plan) == [plan]
    assert names(Base().unmarked) == ["unmarked"]

    class Callable_:
        def __call__(self) -> None:
            """Run."""

    assert names(Callable_()) == ["Callable_"]


def test_a_marked_call() -> None:
    class Search:
        @tool("Searches.")
        def __call__(self, query: str) -> str:
            return query

    class Named:
        @tool("Searches.", name="search")
        def __call__(self, query: str) -> str:
            return query

    assert names(Search()) == ["Search"]
    assert names(Named()) == ["search"]
    assert find_tools(Named())[0].specification.description == "Searches."
    assert find_tools(Named())[0].call({"query": "q"}).text == "q"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (Base, r"must be an object, not the class Base: give Base\(\)"),
        (object(), "object object has no method marked with @tool"),
        ([print], "got a list: is a collection nested"),
        ({}, "got a dict"),
        ("text", "str object has no method marked"),
        (5, "int object"),
        (None, "NoneType object"),
    ],
)
def test_no_tools(source: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        find_tools(source)
