"""Messages are values, and their JSON form keeps everything."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fasttool.errors import ConfigurationError, MessageFormatError
from fasttool.message_format import (
    message_from_dict,
    message_to_dict,
    messages_from_json,
    messages_to_json,
)
from fasttool.messages import (
    AiMessage,
    AudioContent,
    ChatRequest,
    ChatResponse,
    FileContent,
    ImageContent,
    Message,
    ProviderContent,
    SystemMessage,
    TextContent,
    TokenUsage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    as_contents,
    joined_text,
)

IMAGE = ImageContent(b"\x00\xff", mime_type="image/png", detail="low")
MESSAGES: list[Message] = [
    SystemMessage("be good"),
    UserMessage("hi"),
    UserMessage(
        [
            TextContent("a"),
            IMAGE,
            AudioContent(url="http://x/a.wav"),
            FileContent(b"", mime_type="a/b", name="f"),
        ],
        name="Ann",
        attributes={"k": [1, None]},
    ),
    AiMessage("text"),
    AiMessage(None, (ToolCall("1", "t", '{"a": 1}'), ToolCall("2", "u", "")), attributes={"k": 2**70}),
    AiMessage("", contents=(ProviderContent("openai", {"signature": "é\ud83d"}),)),
    ToolResultMessage("1", "t", "", is_error=True, contents=(IMAGE,), attributes={"found_tools": ["a"]}),
    ToolResultMessage("", "", "text"),
]


def test_round_trip() -> None:
    text = messages_to_json(MESSAGES)
    assert json.loads(text)["version"] == 1
    found = messages_from_json(text)
    assert found[:5] == MESSAGES[:5]
    assert found[6:] == MESSAGES[6:]
    assert found[5].contents[0].data == {"signature": "é�"}
    assert messages_from_json(text.decode()) == found
    for message in MESSAGES:
        assert message_from_dict(message_to_dict(message)) == message


def test_empty_parts_are_left_out() -> None:
    assert message_to_dict(AiMessage()) == {"role": "assistant"}
    assert message_to_dict(ToolResultMessage("1", "t", "x")) == {
        "role": "tool",
        "id": "1",
        "tool_name": "t",
        "text": "x",
    }


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (1, "JSON object, got int"),
        ({}, "role system, user, assistant or tool, got None"),
        ({"role": "system"}, '"text" of a stored message must be str, got nothing'),
        ({"role": "system", "text": 1}, '"text" of a stored message must be str, got int'),
        ({"role": "tool", "id": "1", "tool_name": "t", "text": "x", "is_error": 1}, "must be bool"),
        ({"role": "assistant", "tool_calls": [{"id": "1"}]}, '"name" of a stored message'),
        ({"role": "assistant", "tool_calls": [1]}, "got int"),
        ({"role": "assistant", "tool_calls": {}}, "must be list"),
        ({"role": "user", "contents": [{"type": "video"}]}, "got 'video'"),
        ({"role": "user", "contents": ["a"]}, "got None"),
        ({"role": "user", "contents": [{"type": "image"}]}, "takes either data or url"),
        ({"role": "user", "contents": [{"type": "image", "data": "é"}]}, "is not base64"),
        (
            {"role": "user", "contents": [{"type": "audio", "url": "x", "detail": "low"}]},
            "audio is malformed",
        ),
        ({"role": "user", "contents": [{"type": "provider", "provider": "x"}]}, 'lacks "data"'),
        ({"role": "user", "attributes": []}, "must be dict"),
    ],
)
def test_malformed(form: Any, text: str) -> None:
    with pytest.raises(MessageFormatError, match=text):
        message_from_dict(form)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"version": 2, "messages": []}', '{"version": true, "messages": []}', '{"version": 1}'],
)
def test_not_stored_messages(text: str) -> None:
    with pytest.raises(MessageFormatError):
        messages_from_json(text)


def test_what_cannot_be_stored() -> None:
    with pytest.raises(MessageFormatError, match="cannot be written as JSON"):
        messages_to_json([UserMessage("x", attributes={"k": object()})])
    with pytest.raises(MessageFormatError, match="is not a message"):
        message_to_dict("x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [(None, ""), ("", ""), ('{"a": 1}', '{"a": 1}'), (b"\xff{}", "�{}"), ({"a": 2**70}, f'{{"a":{2**70}}}')],
)
def test_arguments_of_a_call(arguments: Any, text: str) -> None:
    assert ToolCall("1", "t", arguments).arguments == text
    assert ToolCall("1", "t").arguments == "{}"


def test_arguments_that_are_none() -> None:
    with pytest.raises(ConfigurationError, match="JSON text or a mapping, got list"):
        ToolCall("1", "t", [])  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="cannot be written as JSON"):
        ToolCall("1", "t", {"a": object()})  # type: ignore[arg-type]


def test_contents() -> None:
    assert as_contents("a") == (TextContent("a"),)
    assert as_contents(IMAGE) == (IMAGE,)
    assert joined_text([TextContent("a"), IMAGE, TextContent("b")]) == "a\nb"
    for wrong in (1, ["a"], [None]):
        with pytest.raises(ConfigurationError, match="holds text or contents"):
            as_contents(wrong)  # type: ignore[arg-type]
    for arguments in ({}, {"data": b"", "url": "x", "mime_type": "a/b"}, {"data": b""}):
        with pytest.raises(ConfigurationError, match="ImageContent"):
            ImageContent(**arguments)


def test_usage() -> None:
    one, two = TokenUsage(1, None, 3), TokenUsage(10, 2, None, cached_input_tokens=5)
    assert one + two == TokenUsage(11, 2, 3, 5)
    assert one + None == one
    assert TokenUsage.sum([None, one, None, two]) == one + two
    assert TokenUsage.sum([None]) is None
    with pytest.raises(TypeError):
        one + 1  # type: ignore[operator]


def test_requests_and_responses() -> None:
    request = ChatRequest([UserMessage("x")])
    assert (request.tools, request.tool_choice, request.parameters) == ((), None, {})
    assert ChatResponse(AiMessage("x")).usage is None
    assert AiMessage("x", tool_calls=[]) == AiMessage("x")
