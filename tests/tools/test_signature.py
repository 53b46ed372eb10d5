"""Every kind of callable that becomes a tool, and every kind of parameter."""

from __future__ import annotations

import asyncio
import functools
import operator
from typing import Annotated, Any

import pytest

from fasttool.errors import ConfigurationError, ToolArgumentsError, ToolExecutionError
from fasttool.tools import P, ToolPlan, find_tools, tool, tool_plan
from fasttool.tools.docstrings import read_docstring
from fasttool.tools.signature import annotated_target, is_async_callable, read_signature, says_nothing


def greet(greeting: str, name: str, times: int = 1) -> str:
    """Greet someone.

    Args:
        greeting: what to say
        name: whom to greet
    """
    return f"{greeting} {name} x{times}"


async def wait(n: int) -> int:
    """Wait."""
    await asyncio.sleep(0)
    return n


class Fetch:
    """Fetches."""

    async def __call__(self, url: str) -> str:
        return f"got {url}"


class Undescribed:
    def __call__(self, n: int) -> int:
        return n


class Box:
    def __init__(self, n: int) -> None:
        self.n = n

    def draw(self, k: int) -> int:
        """Draw."""
        return self.n * k

    @classmethod
    def make(cls, k: int) -> str:
        """Make."""
        return f"{cls.__name__} {k}"

    @staticmethod
    def add(self: int, k: int) -> int:
        """Add; the first parameter is only called self."""
        return self + k

    twice = functools.partialmethod(draw, 2)


def names(plan: ToolPlan) -> list[str]:
    parameters = plan.specification.parameters
    return [] if parameters is None else list(parameters["properties"])


CALLABLES: list[tuple[Any, str, list[str], Any, str]] = [
    (greet, "greet", ["greeting", "name", "times"], {"greeting": "hi", "name": "Bo"}, "hi Bo x1"),
    (functools.partial(greet, "hi"), "greet", ["name", "times"], {"name": "Bo"}, "hi Bo x1"),
    (functools.partial(greet, "hi", times=2), "greet", ["name"], {"name": "Bo", "times": 9}, "hi Bo x2"),
    (
        functools.partial(greet, name="Bo"),
        "greet",
        ["greeting", "times"],
        {"greeting": "yo", "times": 3},
        "yo Bo x3",
    ),
    (functools.partial(functools.partial(greet, "hi"), "Bo"), "greet", ["times"], {}, "hi Bo x1"),
    (functools.partial(greet, "hi", "Bo", times=2), "greet", [], "", "hi Bo x2"),
    (wait, "wait", ["n"], {"n": "3"}, "3"),
    (functools.partial(wait, 4), "wait", [], None, "4"),
    (Fetch(), "Fetch", ["url"], {"url": "u"}, "got u"),
    (Undescribed(), "Undescribed", ["n"], {"n": 1}, "1"),
    (Box(3).draw, "draw", ["k"], {"k": 2}, "6"),
    (Box.make, "make", ["k"], {"k": 2}, "Box 2"),
    (Box.add, "add", ["self", "k"], {"self": 1, "k": 2}, "3"),
    (Box(3).add, "add", ["self", "k"], {"self": 1, "k": 2}, "3"),
    (Box(3).twice, "draw", [], {}, "6"),
    (
        functools.lru_cache(greet),
        "greet",
        ["greeting", "name", "times"],
        {"greeting": "a", "name": "b"},
        "a b x1",
    ),
    (len, "len", ["obj"], {"obj": [1, 2]}, "2"),
    (functools.partial(operator.mul, 3), "mul", ["b"], {"b": 2}, "6"),
    ([1, 2].count, "count", ["value"], {"value": 1}, "1"),
]


@pytest.mark.parametrize(
    ("function", "name", "parameters", "arguments", "text"), CALLABLES, ids=[entry[1] for entry in CALLABLES]
)
def test_callables(function: Any, name: str, parameters: list[str], arguments: Any, text: str) -> None:
    plan = tool_plan(function)
    assert (plan.name, names(plan)) == (name, parameters)
    assert plan.call(arguments).text == text
    assert asyncio.run(plan.acall(arguments)).text == text
    assert [found.name for found in find_tools(function)] == [name]


def test_descriptions() -> None:
    assert tool_plan(greet).specification.description == "Greet someone."
    properties = tool_plan(functools.partial(greet, "hi")).specification.parameters["properties"]
    assert properties["name"] == {"type": "string", "description": "whom to greet"}
    assert tool_plan(Fetch()).specification.description == "Fetches."
    assert tool_plan(Undescribed()).specification.description is None
    assert tool_plan(lambda_named()).specification.description is None


def lambda_named() -> Any:
    return tool(name="double")(lambda n: n * 2)


def test_lambdas() -> None:
    with pytest.raises(ConfigurationError, match="A lambda has no name for a model"):
        tool_plan(lambda n: n)
    plan = tool_plan(lambda_named())
    assert plan.specification.parameters == {"type": "object", "properties": {"n": {}}, "required": ["n"]}
    assert plan.call({"n": 2}).text == "4"


def test_two_objects_are_two_tools() -> None:
    two, three = Box(2), Box(3)
    assert tool_plan(two.draw).call({"k": 2}).text == "4"
    assert tool_plan(three.draw).call({"k": 2}).text == "6"
    assert tool_plan(two.draw).specification is tool_plan(three.draw).specification


def test_kinds_of_parameters() -> None:
    def t(a: int, /, b: int, *, c: int = 3, **rest: Annotated[int, P("more")]) -> str:
        """Test."""
        return f"{a} {b} {c} {rest}"

    plan = tool_plan(t)
    assert plan.specification.parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "integer"},
            "c": {"type": "integer", "default": 3},
        },
        "required": ["a", "b"],
        "additionalProperties": {"type": "integer", "description": "more"},
    }
    assert plan.call({"a": "1", "b": 2.0, "d": "4"}).text == "1 2 3 {'d': 4}"
    assert plan.bind({"a": 1, "b": 2, "c": None, "d": 4}) == {"a": 1, "b": 2, "c": 3, "d": 4}
    with pytest.raises(ToolArgumentsError, match='"d" must be an integer'):
        plan.call({"a": 1, "b": 2, "d": "x"})


def test_what_has_no_signature_for_a_model() -> None:
    def star(*values: int) -> None: ...

    def same(a: Annotated[int, P(name="b")], b: int) -> None: ...

    class Unbound:
        def method() -> None: ...  # type: ignore[misc]

    for function, text in (
        (star, r"takes \*values, which has no name for a model: use a list parameter"),
        (same, "two parameters named 'b': a, b: give one of them another name"),
        (max, "has no signature that Python can read"),
        (Unbound().method, "is a method without a first parameter|has no signature"),
        (Box, "not the class Box"),
        (staticmethod(greet), "A static or class method becomes a tool through its class"),
        (5, "got int"),
    ):
        with pytest.raises(ConfigurationError, match=text):
            tool_plan(function)


def wrapper(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*arguments: Any, **keywords: Any) -> Any:
        return f"<{function(*arguments, **keywords)}>"

    return inner


def test_a_wrapper_has_a_plan_of_its_own() -> None:
    """functools.wraps copies attributes, and with them what belongs to the wrapped function alone."""

    @tool("Adds.")
    def add(a: int, b: int = 2) -> int:
        return a + b

    plan = tool_plan(add)
    wrapped = wrapper(add)
    assert tool_plan(wrapped) is not plan
    assert tool_plan(wrapped).call({"a": "1"}).text == "<3>"
    assert plan.call({"a": "1"}).text == "3"
    assert tool_plan(wrapped).specification == plan.specification
    assert tool_plan(wrapper(wrapped)).call({"a": 1}).text == "<<3>>"

    class Owner:
        @wrapper
        @tool
        def inner(self, a: int) -> int:
            """Inner."""
            return a

        @tool
        @wrapper
        def outer(self, a: int) -> int:
            """Outer."""
            return a

        @tool
        @functools.lru_cache  # noqa: B019
        def kept(self, a: int) -> int:
            """Kept."""
            return a

    found = {plan.name: plan.call({"a": 1}).text for plan in find_tools(Owner())}
    assert found == {"inner": "<1>", "outer": "<1>", "kept": "1"}


def test_what_is_async() -> None:
    @functools.wraps(wait)
    def later(n: int) -> Any:
        return wait(n)

    for function, expected in (
        (wait, True),
        (greet, False),
        (Fetch(), True),
        (functools.partial(wait, 1), True),
        (functools.partial(functools.partial(Fetch()), "x"), True),
        (Box(1).draw, False),
        (later, False),
    ):
        assert is_async_callable(function) is expected
    assert tool_plan(later).call({"n": 1}).text == "1"
    assert asyncio.run(tool_plan(later).acall({"n": 1})).text == "1"


def test_an_async_tool_inside_a_running_loop() -> None:
    async def main() -> None:
        tool_plan(wait).call({"n": 1})

    with pytest.raises(ConfigurationError, match="is async and an event loop is running here"):
        asyncio.run(main())


def test_small_parts() -> None:
    assert annotated_target(functools.partial(Box(1).draw)) is Box.draw
    assert annotated_target(wrapper(greet)) is greet
    assert annotated_target(Fetch()) is Fetch.__call__
    signature = read_signature(greet, "t", read_docstring(greet.__doc__), bound=True)
    assert [entry.name for entry in signature.fields] == ["name", "times"]
    assert (signature.positional, signature.extra, signature.returns) == (2, None, str)
    assert [says_nothing(kind) for kind in (None, type(None), int, int | None)] == [True, True, False, False]


def test_failures_keep_their_cause() -> None:
    def fail() -> None:
        """Fail."""
        raise KeyError

    for run in (tool_plan(fail).call, lambda arguments: asyncio.run(tool_plan(fail).acall(arguments))):
        with pytest.raises(ToolExecutionError, match=r"\AKeyError\Z") as raised:
            run("{}")
        assert isinstance(raised.value.__cause__, KeyError)


class FieldInfo:
    """Shaped as pydantic's."""

    def __init__(
        self, description: str | None = None, default: Any = ..., default_factory: Any = None
    ) -> None:
        self.description, self.default, self.default_factory = description, default, default_factory


def test_fields_as_defaults() -> None:
    def t(
        a: int = FieldInfo("first"),
        b: list[int] = FieldInfo(default_factory=list),  # noqa: B008
        c: int = FieldInfo(default=3),
    ) -> None:  # type: ignore[assignment]
        """Test."""

    plan = tool_plan(t)
    assert plan.specification.parameters["required"] == ["a"]
    assert plan.specification.parameters["properties"]["a"]["description"] == "first"
    assert plan.bind({"a": 1}) == {"a": 1, "b": [], "c": 3}
    plan.bind({"a": 1})["b"].append(1)
    assert plan.bind({"a": 1})["b"] == []
