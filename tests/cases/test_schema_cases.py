"""Faults that other libraries had with schemas; the ids name their reports."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, Optional, TypedDict

import pydantic
import pytest

from fasttool import InvocationContext, Managed, find_tools, tool, tool_plan
from fasttool.errors import ToolArgumentsError

SENTINEL = object()


def parameters(function: Any) -> dict[str, Any]:
    found = tool_plan(function).specification.parameters
    assert found is not None
    return found


class Pool:
    """Holds what cannot be copied."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


def test_b034_postponed_annotations_keep_their_marks() -> None:
    def lookup(query: str, secret: Annotated[Pool, Managed]) -> str:
        return query

    assert list(parameters(lookup)["properties"]) == ["query"]
    context = InvocationContext(managed=[Pool()])
    assert tool_plan(lookup).call('{"query": "q", "secret": "mine"}', context).text == "q"


def test_b036_methods_are_bound_and_nothing_else_is_hidden() -> None:
    class Box:
        def __init__(self, n: int) -> None:
            self.n = n

        @tool
        def draw(self, k: int) -> int:
            return self.n * k

        @tool
        @classmethod
        def name(cls, suffix: str) -> str:
            return cls.__name__ + suffix

        @tool
        @staticmethod
        def same(self: int) -> int:
            return self

    three, five = Box(3), Box(5)
    assert list(parameters(three.draw)["properties"]) == ["k"]
    draw, name, same = find_tools(three)
    assert draw.call({"k": 2}).text == "6"
    assert find_tools(five)[0].call({"k": 2}).text == "10"
    assert name.call({"suffix": "!"}).text == "Box!"
    assert same.call({"self": 4}).text == "4"


def test_b037_a_partial_shows_what_is_left_of_it() -> None:
    def greet(greeting: str, name: str, times: int = 1) -> str:
        """Greet someone."""
        return f"{greeting} {name} {times}"

    plan = tool_plan(functools.partial(greet, "hi", times=2))
    assert plan.name == "greet"
    assert plan.specification.description == "Greet someone."
    assert list((plan.specification.parameters or {})["properties"]) == ["name"]
    assert plan.call('{"name": "Ann", "times": 9, "greeting": "no"}').text == "hi Ann 2"


def test_b039_async_callables_of_all_kinds_are_awaited() -> None:
    class Fetch:
        async def __call__(self, url: str) -> str:
            return "ok"

    async def fetch(url: str) -> str:
        return "ok"

    @functools.wraps(fetch)
    def wrapper(url: str) -> Any:
        return fetch(url)

    for kind in (Fetch(), functools.partial(Fetch()), functools.partial(fetch), wrapper):
        assert asyncio.run(tool_plan(kind).acall({"url": "u"})).text == "ok"
        assert tool_plan(kind).call({"url": "u"}).text == "ok"


def test_b040_all_ways_of_writing_optional_are_the_same() -> None:
    schemas = []
    for annotation in (str | None, None | str, Optional[str]):  # noqa: UP045

        def hello(name: Any = None) -> str:
            return "hello"

        hello.__annotations__["name"] = annotation
        schemas.append(parameters(hello))
    assert schemas == [schemas[0]] * 3
    assert schemas[0]["required"] == []


def test_b041_one_parameter_says_nothing_of_another() -> None:
    def search(query: str, tags: list[str] | None = None) -> str:
        return query

    assert parameters(search)["required"] == ["query"]


def test_b042_a_default_makes_a_parameter_optional() -> None:
    def latest(major: int = 0) -> str:
        return str(major)

    assert parameters(latest)["required"] == []
    assert tool_plan(latest).call("").text == "0"


def test_b043_defaults_are_shown_only_where_json_has_them() -> None:
    def collect(
        items: list[str] = pydantic.Field(default_factory=list, description="the items"),  # noqa: B008
        when: datetime = datetime(2020, 1, 1),
        s: set[int] = frozenset({1}),  # type: ignore[assignment]
        mark: object = SENTINEL,
    ) -> int:
        items.append("x")
        return len(items)

    schema = parameters(collect)
    json.dumps(schema)
    assert schema["required"] == []
    properties = schema["properties"]
    assert "default" not in properties["items"]
    assert properties["items"]["description"] == "the items"
    assert properties["when"]["default"] == "2020-01-01T00:00:00"
    assert properties["s"]["default"] == [1]
    assert "default" not in properties["mark"]
    assert [tool_plan(collect).call("").text for _ in range(2)] == ["1", "1"]


def test_b044_a_description_may_have_paragraphs() -> None:
    def f(q: str) -> str:
        """Summary.

        Second paragraph: when to use it.

        Args:
            q: The query.

        Returns:
            Text.
        """
        return q

    assert tool_plan(f).specification.description == "Summary.\n\nSecond paragraph: when to use it."
    assert parameters(f)["properties"]["q"]["description"] == "The query."


def test_b045_other_sections_are_no_description() -> None:
    def f(x: int) -> int:
        """Summary line.

        Raises:
            ValueError: bad input.

        Args:
            x: The x value.

        Note:
            For people.

        Warning:
            For people too.

        Yields:
            Nothing.
        """
        return x

    assert tool_plan(f).specification.description == "Summary line."
    assert parameters(f)["properties"]["x"]["description"] == "The x value."


def test_b046_a_continuation_line_with_a_colon_starts_no_parameter() -> None:
    def f(query: str, top_k: int = 5) -> str:
        """Search.

        Args:
            query: The text to use
                for finding things: important ones
            top_k (int, optional): How many. Default: 5
            gone: Is no parameter.
        """
        return query

    properties = parameters(f)["properties"]
    assert properties["query"]["description"] == "The text to use for finding things: important ones"
    assert properties["top_k"]["description"] == "How many. Default: 5"
    assert list(properties) == ["query", "top_k"]


def test_b048_any_name_is_a_name() -> None:
    def run(
        config: str,
        context: str,
        schema: dict[str, int],
        self_: int,
        name: str,
        arguments: str,
        copy: bool = False,
    ) -> str:
        return repr((config, context, schema, self_, name, arguments, copy))

    given = {
        "config": "a",
        "context": "b",
        "schema": {"json": 1},
        "self_": 2,
        "name": "c",
        "arguments": "d",
        "copy": True,
    }
    assert tool_plan(run).call(given).text == repr(tuple(given.values()))

    class Odd(TypedDict):
        json: str
        model_config: int

    def odd(value: Odd) -> str:
        return repr(value)

    assert tool_plan(odd).call('{"value": {"json": "x", "model_config": 1}}').text == repr(
        {"json": "x", "model_config": 1}
    )


class Node(pydantic.BaseModel):
    value: int
    child: Annotated[Node | None, pydantic.Field(description="next")] = None


def test_b049_a_described_reference_to_itself_ends() -> None:
    def walk(root: Node) -> int:
        return root.child.value if root.child else root.value

    schema = parameters(walk)
    child = schema["$defs"]["Node"]["properties"]["child"]
    assert child["description"] == "next"
    assert "#/$defs/Node" in json.dumps(child)
    assert tool_plan(walk).call('{"root": {"value": 1, "child": {"value": 2}}}').text == "2"


def test_b058_managed_values_are_handed_on_by_identity() -> None:
    seen: list[Pool] = []

    def q(text: str, db: Annotated[Pool, Managed]) -> str:
        seen.append(db)
        return text

    pool = Pool()
    tool_plan(q).call({"text": "t"}, InvocationContext(managed=[pool]))
    assert seen[0] is pool


def test_b059_a_tool_without_parameters_takes_nothing() -> None:
    def click(where: str) -> str:
        return where

    def observe() -> str:
        return "seen"

    for function, text in ((functools.partial(click, "login"), "login"), (observe, "seen")):
        plan = tool_plan(function)
        assert plan.specification.parameters is None
        for arguments in ("{}", "", "null", None):
            assert plan.call(arguments).text == text


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    name: str


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    name: str
    breed: str


@dataclass
class Bird:
    kind: Literal["bird"]
    name: str


class Fish(TypedDict):
    kind: Literal["fish"]
    name: str


def test_b060_a_tagged_union_shows_and_takes_all_its_members() -> None:
    def act(
        pet: Annotated[Cat | Dog, pydantic.Field(discriminator="kind")],
        other: Cat | Dog | None = None,
        wild: Bird | Fish | None = None,
    ) -> str:
        return " ".join(type(value).__name__ for value in (pet, other, wild))

    for name in ("pet", "other", "wild"):
        assert len(parameters(act)["properties"][name]["anyOf"]) == 2
    dog = {"kind": "dog", "name": "Rex", "breed": "pug"}
    plan = tool_plan(act)
    assert plan.call({"pet": dog, "other": {"kind": "cat", "name": "T"}}).text == "Dog Cat NoneType"
    assert plan.call({"pet": dog, "wild": {"kind": "fish", "name": "N"}}).text == "Dog NoneType dict"
    assert plan.call({"pet": dog, "wild": {"kind": "bird", "name": "N"}}).text == "Dog NoneType Bird"
    with pytest.raises(ToolArgumentsError, match="must be one of cat, dog"):
        plan.call({"pet": {"kind": "cow", "name": "M"}})


def test_b062_tuples_and_bare_containers() -> None:
    def f(
        pair: tuple[int, str],
        many: tuple[int, ...],
        raw: list,  # type: ignore[type-arg]
        anyd: dict,  # type: ignore[type-arg]
        anything: Any,
        nothing=None,  # type: ignore[no-untyped-def]
    ) -> None: ...

    properties = parameters(f)["properties"]
    assert properties["pair"] == {
        "type": "array",
        "prefixItems": [{"type": "integer"}, {"type": "string"}],
        "minItems": 2,
        "maxItems": 2,
    }
    assert properties["many"] == {"type": "array", "items": {"type": "integer"}}
    assert properties["raw"] == {"type": "array", "items": {}}
    assert properties["anyd"] == {"type": "object"}
    assert properties["anything"] == properties["nothing"] == {}
    found = tool_plan(f).bind(
        '{"pair": ["1", "a"], "many": [1, 2], "raw": [1, "x"], "anyd": {"k": [1]}, "anything": {"n": 1.0}}'
    )
    assert found["pair"] == (1, "a")
    assert found["many"] == (1, 2)
    assert repr(found["anything"]) == "{'n': 1.0}"


def test_b064_free_keys_keep_the_schema_of_their_values() -> None:
    def tally(scores: dict[str, int], groups: list[dict[str, str]]) -> None: ...

    properties = parameters(tally)["properties"]
    assert properties["scores"]["additionalProperties"] == {"type": "integer"}
    assert properties["groups"]["items"]["additionalProperties"] == {"type": "string"}
    bound = tool_plan(tally).bind('{"scores": {"a": "1"}, "groups": [{"b": "c"}]}')
    assert bound == {"scores": {"a": 1}, "groups": [{"b": "c"}]}
