"""@tool, on everything that it marks, in either order of decorators."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from fasttool.errors import ConfigurationError
from fasttool.specification import ReturnBehavior, SearchBehavior
from fasttool.tools import find_tools, tool, tool_plan
from fasttool.tools.declaration import declaration_of


def test_bare_and_with_arguments() -> None:
    @tool
    def bare() -> None:
        """From the docstring."""

    @tool()
    def empty() -> None:
        """From the docstring."""

    @tool(
        "First.",
        "Second.",
        name="other",
        metadata={"k": 1},
        strict=True,
        return_behavior=ReturnBehavior.IMMEDIATE,
    )
    def full() -> None:
        """Not shown."""

    @tool(search_behavior=SearchBehavior.ALWAYS_VISIBLE, inline=True)
    def visible() -> None: ...

    assert tool_plan(bare).specification.description == "From the docstring."
    assert tool_plan(empty).specification == tool_plan(bare).specification.replace(name="empty")
    specification = tool_plan(full).specification
    assert (specification.name, specification.description) == ("other", "First.\nSecond.")
    assert (specification.metadata, specification.strict) == ({"k": 1}, True)
    assert tool_plan(full).return_behavior is ReturnBehavior.IMMEDIATE
    assert tool_plan(visible).specification.metadata == {"searchBehavior": "ALWAYS_VISIBLE"}
    assert (tool_plan(visible).search_behavior, tool_plan(visible).inline) == (
        SearchBehavior.ALWAYS_VISIBLE,
        True,
    )
    assert declaration_of(full) is not None
    assert declaration_of(len) is None


def test_methods_in_either_order() -> None:
    class Owner:
        @tool("a", name="A")
        @staticmethod
        def outside_static(n: int) -> int:
            return n

        @staticmethod
        @tool("b", name="B")
        def inside_static(n: int) -> int:
            return n

        @tool("c", name="C")
        @classmethod
        def outside_class(cls, n: int) -> str:
            return f"{cls.__name__} {n}"

        @classmethod
        @tool("d", name="D")
        def inside_class(cls, n: int) -> str:
            return f"{cls.__name__} {n}"

        @tool("e", name="E")
        async def later(self, n: int) -> int:
            return n

    found = [
        (plan.name, plan.specification.description, plan.call({"n": 1}).text) for plan in find_tools(Owner())
    ]
    assert found == [
        ("A", "a", "1"),
        ("B", "b", "1"),
        ("C", "c", "Owner 1"),
        ("D", "d", "Owner 1"),
        ("E", "e", "1"),
    ]
    assert tool_plan(Owner.outside_static).name == "A"
    assert tool_plan(Owner.outside_class).name == "C"


@pytest.mark.parametrize(
    ("declare", "text"),
    [
        (lambda: tool(5), "@tool marks functions and methods, got int"),
        (lambda: tool(functools.partialmethod(print)), "got partialmethod"),
        (lambda: tool(int), "not the class int"),
        (lambda: tool(len), "cannot mark a builtin_function_or_method: wrap it"),
        (lambda: tool("a", 5), "takes its description as text"),
        (lambda: tool(name=" "), "name in @tool must be text that is not empty"),
        (lambda: tool(name=5), "name in @tool must be text that is not empty"),
        (lambda: tool(return_behavior="immediate"), "must be a ReturnBehavior"),
        (lambda: tool(search_behavior="x"), "must be a SearchBehavior"),
        (lambda: tool("d")(property(lambda self: 1)), "marks functions and methods, got property"),
        (lambda: tool_plan(tool(metadata={"k": object()})(lambda_with_name())), "metadata of tool named"),
    ],
)
def test_refused(declare: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        declare()


def lambda_with_name() -> Any:
    def named() -> None: ...

    return named
