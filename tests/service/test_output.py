"""Answers as values of a type."""

from __future__ import annotations

import asyncio
import enum
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, TypedDict

import pydantic
import pytest

from fasttool import Result, ReturnBehavior, ToolCall, ai_service, tool
from fasttool.errors import ConfigurationError, OutputFormatError
from fasttool.messages import AiMessage, ChatResponse, TokenUsage
from fasttool.models import ScriptedChatModel
from fasttool.service.output import OutputReader, fits


class Mood(enum.Enum):
    GOOD = 1
    BAD = 2


@dataclass
class Person:
    """A person."""

    name: str
    age: int | None = None


class Place(TypedDict):
    city: str


class Model(pydantic.BaseModel):
    n: Annotated[int, pydantic.Field(gt=0)]


@dataclass
class Node:
    name: str
    children: list[Node]


READS: list[tuple[Any, str, Any]] = [
    (int, '{"value": 3}', 3),
    (int, "3", 3),
    (int, "```json\n3\n```", 3),
    (int, '{"value": "3"}', 3),
    (float, "2.5", 2.5),
    (bool, "true", True),
    (Mood, "good", Mood.GOOD),
    (Mood, '{"value": "BAD"}', Mood.BAD),
    (Literal["a", "b"], "b", "b"),
    (list[int], "[1, 2]", [1, 2]),
    (list[int], '{"value": [1, "2"]}', [1, 2]),
    (list[Person], '```\n[{"name": "Ann"},]\n```', [Person("Ann")]),
    (dict[str, int], '{"value": {"a": 1}}', {"a": 1}),
    (Person, '{"name": "Ann", "age": 7}', Person("Ann", 7)),
    (Place, '{"city": "Oslo"}', {"city": "Oslo"}),
    (Model, '{"n": 3}', Model(n=3)),
    (Node, '{"name": "a", "children": [{"name": "b", "children": []}]}', Node("a", [Node("b", [])])),
    (int | None, '{"value": null}', None),
    (int | None, "", None),
    (set[str], '["a", "a"]', {"a"}),
]


@pytest.mark.parametrize(("kind", "text", "expected"), READS)
def test_reading(kind: Any, text: str, expected: Any) -> None:
    assert OutputReader(kind, "answer").read(text) == expected


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (int, "about three", 'must be an integer, got "about three"'),
        (int, "", "is required and was null"),
        (Model, '{"n": 0}', "n"),
        (Person, '{"age": 7}', '"value.name" is required'),
        (list[int], "[1, 2.5]", r"2\.5"),
    ],
)
def test_what_cannot_be_read_says_why(kind: Any, text: str, reason: str) -> None:
    with pytest.raises(OutputFormatError, match=reason) as caught:
        OutputReader(kind, "answer").read(text)
    assert caught.value.text == text


def test_an_object_is_asked_for_itself_and_any_other_type_as_a_field() -> None:
    assert OutputReader(Person, "person").response_format.schema["required"] == ["name"]
    assert OutputReader(list[int], "numbers").response_format.schema == {
        "type": "object",
        "properties": {"value": {"type": "array", "items": {"type": "integer"}}},
        "required": ["value"],
    }
    assert "$defs" in OutputReader(Node, "node").response_format.schema


class Extractor(Protocol):
    def person(self, text: str) -> Person: ...
    def count(self, text: str) -> Result[int]: ...
    async def words(self, text: str) -> list[str]: ...


class Capable(ScriptedChatModel):
    supports_response_format = True


def test_a_model_with_a_response_format_is_given_it_with_every_request() -> None:
    model = Capable([AiMessage(tool_calls=[ToolCall("1", "look")]), AiMessage('{"name": "Ann"}')])

    @tool("Look")
    def look() -> str:
        return "seen"

    assert ai_service(Extractor, chat_model=model, tools=[look]).person("Ann?") == Person("Ann")
    assert [request.response_format.name for request in model.requests] == ["person", "person"]  # type: ignore[union-attr]
    assert model.requests[0].messages[0].text == "Ann?"  # type: ignore[union-attr]


def test_another_model_is_told_in_the_users_message() -> None:
    model = ScriptedChatModel([AiMessage('["a", "b"]')])
    assert asyncio.run(ai_service(Extractor, chat_model=model).words("a b")) == ["a", "b"]
    text = model.requests[0].messages[0].text  # type: ignore[union-attr]
    assert text.startswith("a b\n")
    assert '"items":{"type":"string"}' in text
    assert model.requests[0].response_format is None


def test_an_answer_that_cannot_be_read_is_asked_for_again_and_nothing_is_lost() -> None:
    usage = TokenUsage(1, 1, 2)
    model = ScriptedChatModel(
        [ChatResponse(AiMessage("many"), usage), ChatResponse(AiMessage('{"value": 3}'), usage)]
    )
    result = ai_service(Extractor, chat_model=model).count("how many?")
    assert result.content == 3
    assert result.usage == TokenUsage(2, 2, 4)
    assert len(result.responses) == 2
    roles = [message.role for message in model.requests[1].messages]
    assert roles == ["user", "assistant", "user"]
    assert 'got "many"' in model.requests[1].messages[2].text  # type: ignore[union-attr]


def test_it_is_not_asked_for_for_ever() -> None:
    model = ScriptedChatModel([AiMessage("many")] * 5)
    with pytest.raises(OutputFormatError, match="must be an integer") as caught:
        ai_service(Extractor, chat_model=model, max_reprompts=2).count("how many?")
    assert len(model.requests) == 3
    assert caught.value.result.messages[-1].text == "many"
    model = ScriptedChatModel([AiMessage("many")] * 5)
    with pytest.raises(OutputFormatError):
        ai_service(Extractor, chat_model=model, max_reprompts=0).count("how many?")
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (1, int, True),
        (True, int, False),
        (1, float, False),
        ("a", str, True),
        (["a"], list[str], True),
        ([1], list[str], False),
        ([], list[str], True),
        ({"a": 1}, dict[str, int], True),
        ({"a": "b"}, dict[str, int], False),
        ((1, "a"), tuple[int, str], True),
        ((1,), tuple[int, str], False),
        ((1, 2), tuple[int, ...], True),
        ({1}, set[int], True),
        (None, int | None, True),
        ("x", int | None, False),
        ("a", Literal["a"], True),
        (1, Literal[True], False),
        ({"city": "x"}, Place, True),
        (Person("a"), Person, True),
        (Person("a"), Annotated[Person, "x"], True),
        (3, Any, True),
    ],
)
def test_whether_a_value_fits_a_type(value: Any, kind: Any, expected: bool) -> None:
    assert fits(value, kind) is expected


def test_one_result_for_the_caller_is_the_value_if_it_fits() -> None:
    @tool("Give", return_behavior=ReturnBehavior.IMMEDIATE)
    def give() -> Any:
        return Person("Ann")

    @tool("Give nothing", return_behavior=ReturnBehavior.IMMEDIATE)
    def nothing() -> None: ...

    def service(*names: str) -> Extractor:
        calls = [ToolCall(str(number), name) for number, name in enumerate(names)]
        return ai_service(
            Extractor, chat_model=ScriptedChatModel([AiMessage(tool_calls=calls)]), tools=[give, nothing]
        )

    assert service("nothing", "give").person("x") == Person("Ann")
    assert service("nothing").person("x") is None
    with pytest.raises(ConfigurationError, match="declare it to return Result") as caught:
        service("give", "give").person("x")
    assert len(caught.value.result.executions) == 2
