"""What goes to an OpenAI-compatible server, byte for byte, and what is read from its answers."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from fasttool.errors import ConfigurationError, ModelResponseError
from fasttool.message_format import messages_from_json, messages_to_json
from fasttool.messages import (
    AiMessage,
    AudioContent,
    ChatRequest,
    FileContent,
    FinishReason,
    ImageContent,
    Message,
    ProviderContent,
    ResponseFormat,
    SystemMessage,
    TextContent,
    TokenUsage,
    ToolCall,
    ToolChoice,
    ToolResultMessage,
    UserMessage,
)
from fasttool.models import openai_request
from fasttool.models.http.failures import error_text, excerpt
from fasttool.models.openai_codec import decode_response, encode_request, tool_bytes, tool_names
from fasttool.specification import ToolArray, ToolSpecification
from fasttool.tools import ToolService

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolSpecification("get_weather", "Returns the weather.", SCHEMA)


def sent(*messages: Message, **options: Any) -> dict[str, Any]:
    body = json.loads(encode_request(ChatRequest(messages, **options), model="m"))
    assert isinstance(body, dict)
    return body


def sent_messages(*messages: Message) -> list[dict[str, Any]]:
    found = sent(*messages)["messages"]
    assert isinstance(found, list)
    return found


def reply(message: Any, **fields: Any) -> bytes:
    return json.dumps({"choices": [{"index": 0, "message": message, **fields}]}).encode()


# ------------------------------------------------------------------------------ whole requests
def test_golden_request_of_one_question() -> None:
    request = ChatRequest([SystemMessage("Be brief."), UserMessage("上海今天热吗?")])
    assert (
        encode_request(request, model="gpt-x", defaults=None)
        == (
            '{"model":"gpt-x","messages":[{"role":"system","content":"Be brief."},'
            '{"role":"user","content":"上海今天热吗?"}]}'
        ).encode()
    )


def test_golden_request_of_a_round_with_tools() -> None:
    request = ChatRequest(
        [
            UserMessage("How warm is it?"),
            AiMessage(None, (ToolCall("c1", "get_weather", '{"city": "Shanghai"}'),)),
            ToolResultMessage("c1", "get_weather", "27"),
        ],
        tools=[WEATHER, ToolSpecification("ping", strict=True)],
        tool_choice=ToolChoice.AUTO,
        parameters={"temperature": 0},
    )
    assert encode_request(request, model="gpt-x", defaults={"temperature": 1, "seed": 7}) == (
        b'{"model":"gpt-x","messages":[{"role":"user","content":"How warm is it?"},'
        b'{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",'
        b'"function":{"name":"get_weather","arguments":"{\\"city\\": \\"Shanghai\\"}"}}]},'
        b'{"role":"tool","tool_call_id":"c1","content":"27"}],"temperature":0,"seed":7,"tool_choice":"auto",'
        b'"tools":[{"type":"function","function":{"name":"get_weather","description":"Returns the weather.",'
        b'"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}},'
        b'{"type":"function","function":{"name":"ping","strict":true,'
        b'"parameters":{"type":"object","properties":{},"required":[],"additionalProperties":false}}}]}'
    )


# --------------------------------------------------------------------------------------- tools
def test_a_tool_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    encode_tool = openai_request._encode_tool

    def counting(specification: ToolSpecification) -> bytes:
        made.append(specification.name)
        return encode_tool(specification)

    monkeypatch.setattr(openai_request, "_encode_tool", counting)
    tools = [ToolSpecification(f"tool_{number}", "x", SCHEMA) for number in range(5)]
    bodies = {encode_request(ChatRequest([UserMessage("hi")], tools), model="m") for _ in range(10)}
    assert made == [tool.name for tool in tools]
    assert len(bodies) == 1


def test_the_bytes_of_a_tool_are_the_ones_that_are_kept() -> None:
    tool = ToolSpecification("t")
    tool.wire["openai"] = b'{"kept":true}'
    assert sent(UserMessage("hi"), tools=[tool])["tools"] == [{"kept": True}]


def test_the_schema_is_not_read_where_it_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = ToolSpecification("t", None, SCHEMA)
    tool_bytes(tool)

    def refuse(self: ToolSpecification) -> None:
        raise AssertionError("the schema was read again")

    monkeypatch.setattr(ToolSpecification, "parameters", property(refuse))
    assert sent(UserMessage("hi"), tools=[tool])["tools"][0]["function"]["parameters"] == SCHEMA


@pytest.mark.parametrize(
    "schema", [None, {}, {"type": "object"}, {"properties": {}}, {"type": "object", "properties": None}]
)
def test_a_schema_always_has_type_and_properties(schema: dict[str, Any] | None) -> None:
    [tool] = sent(UserMessage("hi"), tools=[ToolSpecification("t", None, schema)])["tools"]
    assert tool == {
        "type": "function",
        "function": {"name": "t", "parameters": {"type": "object", "properties": {}}},
    }


def test_a_completed_schema_keeps_the_rest() -> None:
    tool = ToolSpecification("t", None, {"type": "object", "additionalProperties": {"type": "integer"}})
    [form] = sent(UserMessage("hi"), tools=[tool])["tools"]
    assert form["function"]["parameters"] == {
        "type": "object",
        "additionalProperties": {"type": "integer"},
        "properties": {},
    }


@pytest.mark.parametrize(
    ("strict", "schema", "sent_as", "parameters"),
    [
        (None, SCHEMA, None, SCHEMA),
        (False, SCHEMA, False, SCHEMA),
        (True, SCHEMA, True, {**SCHEMA, "additionalProperties": False}),
        (
            True,
            {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}},
            True,
            {
                "type": "object",
                "properties": {"n": {"type": ["integer", "null"], "description": "Default: 3."}},
                "required": ["n"],
                "additionalProperties": False,
            },
        ),
        (
            None,
            {"oneOf": [SCHEMA, {"type": "object", "properties": {"id": {"type": "integer"}}}]},
            None,
            {
                "type": "object",
                "properties": {"city": {"type": "string"}, "id": {"type": "integer"}},
                "description": "Exactly one of these: city; nothing more.",
            },
        ),
    ],
)
def test_the_schema_is_in_the_dialect(
    strict: bool | None, schema: dict[str, Any], sent_as: bool | None, parameters: dict[str, Any]
) -> None:
    [tool] = sent(UserMessage("hi"), tools=[ToolSpecification("t", None, schema, strict=strict)])["tools"]
    assert tool["function"].get("strict") is sent_as
    assert tool["function"]["parameters"] == parameters


def test_a_tool_that_cannot_be_strict_is_sent_without(caplog: pytest.LogCaptureFixture) -> None:
    schema = {"type": "object", "properties": {"labels": {"type": "object"}}}
    tool = ToolSpecification("t", None, schema, strict=True)
    for _ in range(2):
        [form] = sent(UserMessage("hi"), tools=[tool])["tools"]
    assert form["function"] == {"name": "t", "strict": False, "parameters": schema}
    assert [record.getMessage() for record in caplog.records] == [
        "Tool t is sent without strict. labels: strict is not possible: it takes any names."
    ]


# --------------------------------------------------------------------------------------- names
def test_names_that_fit_are_left_alone() -> None:
    request = ChatRequest([AiMessage(None, (ToolCall("1", "get_weather"),))], ToolArray([WEATHER]))
    names = tool_names(request)
    assert names is tool_names(ChatRequest([], [WEATHER]))
    assert names.wire("get_weather") == names.original("get_weather") == "get_weather"


@pytest.mark.parametrize("kind", [list, ToolArray])
def test_names_that_do_not_fit_are_sent_as_others_and_come_back(kind: Any) -> None:
    tools = kind(
        [ToolSpecification(name) for name in ("calendar.list", "calendar/list", "calendar_list", "天气")]
    )
    request = ChatRequest(
        [
            UserMessage("hi"),
            AiMessage(None, (ToolCall("1", "calendar/list"), ToolCall("2", "no longer.here"))),
            ToolResultMessage("1", "calendar/list", "", contents=(ImageContent(url="https://x/y"),)),
            ToolResultMessage("2", "no longer.here", "ok"),
        ],
        tools,
        tool_choice="天气",
    )
    bodies = [json.loads(encode_request(request, model="m")) for _ in range(2)]
    assert bodies[0] == bodies[1]
    body = bodies[0]
    wire = [tool["function"]["name"] for tool in body["tools"]]
    assert wire[2] == "calendar_list"
    assert len(set(wire)) == 4
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for name in wire)
    called = [call["function"]["name"] for call in body["messages"][1]["tool_calls"]]
    assert called == [wire[1], "no_longer_here"]
    assert body["tool_choice"] == {"type": "function", "function": {"name": wire[3]}}
    assert body["messages"][-1]["content"][0]["text"] == f"From the result of {wire[1]} (1):"

    names = tool_names(request)
    answer = reply(
        {
            "tool_calls": [
                {"id": str(i), "function": {"name": n}} for i, n in enumerate([*wire, *called, "made_up"])
            ]
        }
    )
    assert [call.name for call in decode_response(answer, names).message.tool_calls] == [
        *("calendar.list", "calendar/list", "calendar_list", "天气"),
        *("calendar/list", "no longer.here", "made_up"),
    ]
    assert decode_response(answer).message.tool_calls[0].name == wire[0]


def test_a_name_of_the_history_takes_none_of_a_tool() -> None:
    request = ChatRequest([AiMessage(None, (ToolCall("1", "a.b"),))], [ToolSpecification("a_b")])
    names = tool_names(request)
    assert names.wire("a_b") == names.original("a_b") == "a_b"
    assert names.original(names.wire("a.b")) == "a.b"


def test_a_name_that_was_taken_does_not_stay_with_the_specification() -> None:
    dotted = ToolSpecification("a.b")
    both = sent(UserMessage("hi"), tools=ToolArray([dotted, ToolSpecification("a_b")]))["tools"]
    alone = sent(UserMessage("hi"), tools=ToolArray([dotted]))["tools"]
    assert both[0]["function"]["name"].startswith("a_b_")
    assert [tool["function"]["name"] for tool in (both[1], alone[0])] == ["a_b", "a_b"]


def test_the_array_and_its_names_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = ToolArray([WEATHER, ToolSpecification("a.b")])
    request = ChatRequest([UserMessage("hi")], tools)
    first = encode_request(request, model="m")
    names = tool_names(request)

    def refuse(*given: Any) -> None:
        raise AssertionError("it was made again")

    monkeypatch.setattr(openai_request, "tool_bytes", refuse)
    monkeypatch.setattr(openai_request, "_encode_tool", refuse)
    assert encode_request(request, model="m") == first
    assert tool_names(request) is names


def test_long_integers_and_surrogates_in_tools_and_text_do_not_raise() -> None:
    big = 2**80
    tool = ToolSpecification(
        "t", "bad \ud800 text", {"type": "object", "properties": {"n": {"maximum": big}}}
    )
    body = sent(UserMessage("also \udfff"), tools=[tool], parameters={"seed": big})
    assert body["tools"][0]["function"]["parameters"]["properties"]["n"]["maximum"] == big
    assert body["tools"][0]["function"]["description"] == "bad \ufffd text"
    assert body["messages"][0]["content"] == "also \ufffd"
    assert body["seed"] == big


@pytest.mark.parametrize(
    ("choice", "form"),
    [
        (ToolChoice.AUTO, "auto"),
        (ToolChoice.REQUIRED, "required"),
        (ToolChoice.NONE, "none"),
        ("required", "required"),
        ("get_weather", {"type": "function", "function": {"name": "get_weather"}}),
    ],
)
def test_tool_choice(choice: ToolChoice | str, form: Any) -> None:
    assert sent(UserMessage("hi"), tools=[WEATHER], tool_choice=choice)["tool_choice"] == form


def test_without_tools_nothing_of_tools_is_sent() -> None:
    body = sent(UserMessage("hi"), tool_choice=ToolChoice.REQUIRED, parameters={"parallel_tool_calls": False})
    assert body.keys() == {"model", "messages"}


def test_without_tool_choice_none_is_sent() -> None:
    assert "tool_choice" not in sent(UserMessage("hi"), tools=[WEATHER])


# ---------------------------------------------------------------------------------- parameters
def test_parameters_pass_through_and_may_name_the_model() -> None:
    body = sent(UserMessage("hi"), parameters={"model": "other", "top_k": 3, "extra": {"a": [1]}})
    assert (body["model"], body["top_k"], body["extra"]) == ("other", 3, {"a": [1]})


def test_tools_of_the_provider_follow_ours() -> None:
    own = {"type": "web_search"}
    body = encode_request(ChatRequest([UserMessage("hi")], [WEATHER], parameters={"tools": [own]}), model="m")
    assert body.count(b'"tools"') == 1
    assert [tool["type"] for tool in json.loads(body)["tools"]] == ["function", "web_search"]
    assert sent(UserMessage("hi"), parameters={"tools": [own]})["tools"] == [own]


@pytest.mark.parametrize(
    "parameters", [{"messages": []}, {"stream": True}, {"n": 2}, {"tools": {"a": 1}}, {"x": object()}]
)
def test_parameters_that_cannot_be_sent_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        sent(UserMessage("hi"), parameters=parameters)


# ------------------------------------------------------------------------------------ messages
def test_user_text_in_several_parts_is_one_string() -> None:
    message = UserMessage(
        [TextContent("a"), TextContent("b"), ProviderContent("other", {"type": "x"})], name="Ann"
    )
    assert sent_messages(message) == [{"role": "user", "content": "a\nb", "name": "Ann"}]


def test_user_media() -> None:
    message = UserMessage(
        [
            TextContent("look"),
            ImageContent(url="https://x/y.png", detail="low"),
            ImageContent(data=b"png", mime_type="image/png"),
            AudioContent(data=b"wav", mime_type="audio/x-wav; rate=1"),
            AudioContent(data=b"mp3", mime_type="audio/mpeg"),
            AudioContent(url="https://x/a.ogg"),
            FileContent(data=b"pdf", mime_type="application/pdf", name="a.pdf"),
            ProviderContent("openai", {"type": "video_url", "video_url": {"url": "https://x/v"}}),
        ]
    )
    [form] = sent_messages(message)
    assert form["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
        {"type": "input_audio", "input_audio": {"data": "d2F2", "format": "wav"}},
        {"type": "input_audio", "input_audio": {"data": "bXAz", "format": "mp3"}},
        {"type": "audio_url", "audio_url": {"url": "https://x/a.ogg"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,cGRm"}},
        {"type": "video_url", "video_url": {"url": "https://x/v"}},
    ]


@pytest.mark.parametrize(
    ("message", "content"),
    [
        (AiMessage("hello"), "hello"),
        (AiMessage(None), ""),
        (AiMessage("", (ToolCall("1", "t"),)), None),
        (AiMessage("wait", (ToolCall("1", "t"),)), "wait"),
    ],
)
def test_assistant_content(message: AiMessage, content: str | None) -> None:
    assert sent_messages(message)[0]["content"] == content


@pytest.mark.parametrize(
    ("given", "wire"),
    [
        ('{"a": 1}', '{"a": 1}'),
        (' {"a":1,"a":2} ', ' {"a":1,"a":2} '),
        ('{"n": 123456789012345678901234567890}', '{"n": 123456789012345678901234567890}'),
        ('{"s": "\\ud800"}', '{"s":"\ufffd"}'),
        ('{"s": "\ud800"}', '{"s":"\ufffd"}'),
        ("", "{}"),
        ("null", "{}"),
        ("[1]", "{}"),
        ('"text"', "{}"),
        ('{"a": 1', "{}"),
        ("{'a': 1}", "{}"),
        ('{"a": NaN}', "{}"),
        ("[" * 5000, "{}"),
    ],
)
def test_arguments_of_a_history_are_always_an_object(given: str, wire: str) -> None:
    [form] = sent_messages(AiMessage(None, (ToolCall("1", "t", given),)))
    assert form["tool_calls"][0]["function"]["arguments"] == wire
    assert isinstance(json.loads(wire), dict)


def test_provider_parts_are_replayed_to_their_provider_alone() -> None:
    message = AiMessage(
        "hi",
        contents=(
            ProviderContent("openai", {"reasoning_content": "hm", "role": "system"}),
            ProviderContent("anthropic", {"signature": "s"}),
        ),
    )
    assert sent_messages(message) == [{"reasoning_content": "hm", "role": "assistant", "content": "hi"}]


def test_tool_results_stay_together_and_their_images_follow() -> None:
    picture = ImageContent(data=b"p", mime_type="image/png")
    forms = sent_messages(
        AiMessage(None, (ToolCall("1", "draw"), ToolCall("2", "draw"), ToolCall("3", "say"))),
        ToolResultMessage(
            "1", "draw", "ignored", contents=(TextContent("one"), picture, TextContent("more"))
        ),
        ToolResultMessage("2", "draw", "", contents=(picture,)),
        ToolResultMessage("3", "say", ""),
        UserMessage("go on"),
    )
    assert [form["role"] for form in forms] == ["assistant", "tool", "tool", "tool", "user", "user"]
    assert [form.get("tool_call_id") for form in forms[1:4]] == ["1", "2", "3"]
    assert forms[1]["content"] == "one\nmore"
    assert forms[2]["content"] != ""
    assert forms[3]["content"] == ""
    assert [part["type"] for part in forms[4]["content"]] == ["text", "image_url"] * 2
    assert "(1)" in forms[4]["content"][0]["text"]
    assert "(2)" in forms[4]["content"][2]["text"]
    assert forms[5]["content"] == "go on"


def test_images_of_the_last_result_are_sent_too() -> None:
    forms = sent_messages(
        AiMessage(None, (ToolCall("1", "draw"),)),
        ToolResultMessage("1", "draw", "", contents=(ImageContent(url="https://x/y"),)),
    )
    assert [form["role"] for form in forms] == ["assistant", "tool", "user"]


def test_something_that_is_no_message_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="str is not a message"):
        encode_request(ChatRequest(["hi"]), model="m")  # type: ignore[list-item]


# ----------------------------------------------------------------------------------- responses
def test_a_whole_answer() -> None:
    body = {
        "id": "r1",
        "model": "gpt-x-2026",
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "a", "arguments": '{"x": 1}'}},
                        {"id": "c2", "type": "function", "function": {"name": "b", "arguments": ""}},
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
    }
    response = decode_response(b"\xef\xbb\xbf\n" + json.dumps(body).encode())
    assert response.message == AiMessage(None, (ToolCall("c1", "a", '{"x": 1}'), ToolCall("c2", "b", "")))
    assert response.usage == TokenUsage(10, 5, 15, 4, 2)
    assert response.finish_reason is FinishReason.TOOL_CALLS
    assert (response.model, response.id) == ("gpt-x-2026", "r1")


def test_a_bare_answer() -> None:
    response = decode_response(reply({"content": "hi"}))
    assert response.message == AiMessage("hi")
    assert (response.usage, response.finish_reason, response.model, response.id) == (None, None, None, None)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": ""}, ""),
        ({"content": None}, None),
        ({}, None),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "x"}]}, "ab"),
        ({"content": ["a", "b"]}, "ab"),
        ({"content": []}, None),
        ({"content": {"type": "text", "text": "a"}}, "a"),
        ({"content": None, "refusal": "I cannot."}, "I cannot."),
        ({"content": [{"type": "refusal", "refusal": "No."}]}, "No."),
        ({"content": None, "audio": {"id": "x", "transcript": "said"}}, "said"),
        ({"content": "hi", "refusal": None, "audio": None, "tool_calls": None, "function_call": None}, "hi"),
    ],
)
def test_text_of_an_answer(message: dict[str, Any], text: str | None) -> None:
    assert decode_response(reply(message)).message.text == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"arguments": {"a": 2**70}}, f'{{"a":{2**70}}}'),
        ({"arguments": None}, ""),
        ({}, ""),
        ({"arguments": "not json"}, "not json"),
        ({"arguments": [1]}, "[1]"),
        ({"arguments": "\\ud800"}, "\\ud800"),
    ],
)
def test_arguments_of_a_call(arguments: dict[str, Any], text: str) -> None:
    [call] = decode_response(
        reply({"tool_calls": [{"function": {"name": "t", **arguments}}]})
    ).message.tool_calls
    assert call == ToolCall("", "t", text)


@pytest.mark.parametrize(("label", "id"), [(None, ""), ("a", "a"), (7, "7")])
def test_id_of_a_call(label: Any, id: str) -> None:
    [call] = decode_response(
        reply({"tool_calls": [{"id": label, "function": {"name": "t"}}]})
    ).message.tool_calls
    assert call.id == id


def test_the_older_form_of_a_call() -> None:
    message = {"content": None, "function_call": {"name": "t", "arguments": "{}"}}
    response = decode_response(reply(message, finish_reason="function_call"))
    assert response.message.tool_calls == (ToolCall("", "t", "{}"),)
    assert response.finish_reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("STOP", FinishReason.STOP),
        ("surprise", FinishReason.OTHER),
        (3, FinishReason.OTHER),
        (None, None),
    ],
)
def test_finish_reason(word: Any, reason: FinishReason | None) -> None:
    assert decode_response(reply({"content": "x"}, finish_reason=word)).finish_reason is reason


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        (None, None),
        ([], None),
        ({}, None),
        ({"prompt_tokens": 3}, TokenUsage(3)),
        ({"prompt_tokens": "3", "completion_tokens": 2.5, "total_tokens": True}, None),
        ({"prompt_tokens": -1, "completion_tokens": 0}, TokenUsage(None, 0)),
        ({"prompt_tokens": 3, "prompt_tokens_details": None, "completion_tokens_details": []}, TokenUsage(3)),
    ],
)
def test_usage(usage: Any, found: TokenUsage | None) -> None:
    body = json.dumps({"choices": [{"message": {"content": "x"}}], "usage": usage}).encode()
    assert decode_response(body).usage == found


def test_reasoning_and_signatures_go_back_as_they_came() -> None:
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "t", "arguments": "{}"},
        "extra_content": {"google": {"thought_signature": "S"}},
    }
    plain = {"id": "d", "type": "function", "function": {"name": "t", "arguments": "{}"}}
    came = {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [call, plain]}
    message = decode_response(reply(came)).message
    [stored] = messages_from_json(messages_to_json([message]))
    assert isinstance(stored, AiMessage)
    stored.tool_calls = (ToolCall("ours", "t"), ToolCall("ours2", "t"))  # ids may be made anew
    [form] = sent_messages(stored)
    assert form["reasoning_content"] == "hm"
    assert form["tool_calls"] == [call | {"id": "ours"}, plain | {"id": "ours2"}]


def test_signatures_are_not_moved_to_other_calls() -> None:
    part = ProviderContent("openai", {"tool_calls": [{"extra_content": 1}, {}]})
    [form] = sent_messages(AiMessage(None, (ToolCall("1", "t"),), (part,)))
    assert "extra_content" not in form["tool_calls"][0]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "empty body"),
        (b" \n", "empty body"),
        (b"<html><body>Bad\x00\n gateway</body></html>", "not JSON .*<html><body>Bad gateway"),
        (b'{"choices": [', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"{}", "no choices"),
        (b'{"choices": null}', "no choices"),
        (b'{"choices": []}', "no choices"),
        (b'{"choices": [null]}', "no message"),
        (b'{"choices": [{}]}', "no message"),
        (b'{"choices": [{"message": "hi"}]}', "no message"),
        (reply({"tool_calls": [{"function": {"arguments": "{}"}}]}), "names no function"),
        (reply({"tool_calls": [{"function": {"name": ""}}]}), "names no function"),
        (reply({"tool_calls": [{"function": None}]}), "names no function"),
        (reply({"tool_calls": [None]}), "names no function"),
        (reply({"tool_calls": "x"}), "not a list"),
        # How deep Python reads depends on its version; this is too deep for all.
        (b'{"error":' * 200_000 + b"1" + b"}" * 200_000, "nested too deep"),
        (b'{"choices":[{"message":' + b"[" * 200_000 + b"]" * 200_000 + b"}]}", "nested too deep"),
        (b'{"error": {"message": "overloaded", "code": 1}}', "error: overloaded$"),
        (b'{"error": "no such model"}', "error: no such model$"),
        (b'{"error": {"code": 502}}', 'error: {"code":502}$'),
        (b'{"choices": [{"error": {"message": "upstream"}}]}', "error: upstream$"),
    ],
)
def test_answers_that_cannot_be_used(body: bytes, says: str) -> None:
    with pytest.raises(ModelResponseError, match=says) as caught:
        decode_response(body)
    text = str(caught.value)
    assert "\n" not in text
    assert text.isprintable()
    assert len(text) < 400


def test_an_error_that_is_null_is_none() -> None:
    assert decode_response(b'{"error": null, "choices": [{"message": {"content": "x"}}]}').message.text == "x"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"message": "a"}, "a"),
        ({"detail": [{"loc": ["x"], "msg": "field required"}]}, "field required"),
        ([{"error": {"message": "b"}}], "b"),
        ({"error": {"error": {"message": "deep"}}}, "deep"),
        ({}, None),
        (3, None),
        ([], None),
    ],
)
def test_error_text(value: Any, text: str | None) -> None:
    assert error_text(value) == text


def test_an_excerpt_is_short_and_on_one_line() -> None:
    assert excerpt("a\r\n\x1b[31mb\u202e  c") == "a [31mb c"
    assert excerpt("x" * 1000, 10) == "x" * 10 + "…"
    assert excerpt("é".encode() * 1000, 10) == "é" * 10 + "…"


def test_the_array_of_a_service_is_written_once() -> None:
    def look_up(word: str) -> str:
        """Look up a word."""
        return word

    tools = ToolService([look_up]).context().effective_tools
    request = ChatRequest([UserMessage("hi")], tools)
    first = encode_request(request, model="m")
    kept = tools.wire["openai"]
    assert kept in first
    assert encode_request(request, model="m") == first
    assert tools.wire["openai"] is kept
    assert encode_request(ChatRequest([UserMessage("hi")], tuple(tools)), model="m") == first


def test_the_form_of_an_answer_is_strict_where_that_is_possible():
    free = {"type": "object", "properties": {"tags": {"type": "object"}}, "required": []}
    closed = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": []}
    forms = []
    for schema, strict in ((closed, None), (closed, False), (free, None)):
        request = ChatRequest([UserMessage("hi")], response_format=ResponseFormat("answer", schema, strict))
        forms.append(json.loads(encode_request(request, model="m"))["response_format"])
    assert [form["type"] for form in forms] == ["json_schema"] * 3
    assert [form["json_schema"]["strict"] for form in forms] == [True, False, False]
    assert forms[0]["json_schema"]["schema"] == {
        "type": "object",
        "properties": {"n": {"type": ["integer", "null"]}},
        "required": ["n"],
        "additionalProperties": False,
    }
    assert forms[1]["json_schema"] == {"name": "answer", "strict": False, "schema": closed}
