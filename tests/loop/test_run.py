"""run_tools and arun_tools: the same rules, driven in both ways."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from fasttool import ErrorPolicy, ReturnBehavior, ToolCall, ToolResult, ToolService, ToolSpecification
from fasttool import arun_tools as _arun_tools
from fasttool import run_tools as _run_tools
from fasttool.errors import (
    ConfigurationError,
    ModelError,
    ToolArgumentsError,
    ToolExecutionError,
    UnknownToolError,
)
from fasttool.messages import (
    AiMessage,
    ChatResponse,
    FinishReason,
    ImageContent,
    SystemMessage,
    ToolChoice,
    UserMessage,
)
from fasttool.models import ScriptedChatModel
from fasttool.tools import ToolExecutionResult, tool
from tests.loop.test_machine import assert_well_formed, results_of

Run = Callable[..., Any]


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Run:
    if request.param == "sync":
        return _run_tools
    return lambda *arguments, **options: asyncio.run(_arun_tools(*arguments, **options))


def call(name: str, arguments: Any = "{}", label: str = "c") -> AiMessage:
    return AiMessage(tool_calls=[ToolCall(label, name, arguments)])


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


async def add_async(a: int, b: int) -> int:
    """Add, awaiting something."""
    await asyncio.sleep(0)
    return a + b


def fail(x: str) -> str:
    """Fail."""
    raise ValueError(f"boom {x}")


@pytest.mark.parametrize("function", [add, add_async])
def test_a_round(run: Run, function: Callable[..., Any]):
    model = ScriptedChatModel([call(function.__name__, '{"a": "1", "b": 2.0}'), AiMessage("3")])
    result = run(model, "1 + 2?", [function])
    assert result.content == "3"
    assert results_of(result.messages)[0].text == "3"
    assert result.executions[0].result.value == 3
    assert len(model.requests) == 2


def test_messages_may_be_a_conversation(run: Run):
    given = [SystemMessage("be short"), UserMessage("hi")]
    model = ScriptedChatModel([AiMessage("ok")])
    result = run(model, given)
    assert list(model.requests[0].messages) == given
    assert result.messages == [*given, AiMessage("ok")]
    assert len(given) == 2


@pytest.mark.parametrize(
    ("messages", "text"),
    [([], "at least one message"), (["hi"], "got str"), (3, "got int"), ([{"role": "user"}], "got dict")],
)
def test_wrong_messages(run: Run, messages: Any, text: str):
    with pytest.raises(ConfigurationError, match=text):
        run(ScriptedChatModel([]), messages)


def test_execution_errors_go_to_the_model(run: Run, caplog: pytest.LogCaptureFixture):
    model = ScriptedChatModel([call("fail", '{"x": "a"}'), AiMessage("sorry")])
    with caplog.at_level(logging.WARNING, logger="fasttool"):
        result = run(model, "x", [fail])
    message = results_of(result.messages)[0]
    assert (message.text, message.is_error) == ("boom a", True)
    assert "Tool fail failed: boom a" in caplog.text


def test_execution_errors_may_be_raised(run: Run):
    model = ScriptedChatModel([call("fail", '{"x": "a"}')])
    with pytest.raises(ToolExecutionError, match="boom a") as raised:
        run(model, "x", [fail], execution_error=ErrorPolicy.RAISE)
    assert isinstance(raised.value.__cause__, ValueError)
    assert raised.value.tool == "fail"
    assert_well_formed(raised.value.result.messages)


def test_an_error_without_words_has_its_kind(run: Run):
    def fail_silently() -> str:
        """Fail."""
        raise KeyError

    model = ScriptedChatModel([call("fail_silently"), AiMessage("x")])
    assert results_of(run(model, "x", [fail_silently]).messages)[0].text == "KeyError"


def test_argument_errors_are_raised(run: Run):
    model = ScriptedChatModel([call("add", '{"a": 1}')])
    with pytest.raises(ToolArgumentsError, match='"b" is required') as raised:
        run(model, "x", [add])
    assert_well_formed(raised.value.result.messages)
    assert len(raised.value.result.messages) == 3


def test_argument_errors_may_go_to_the_model(run: Run):
    model = ScriptedChatModel(
        [call("add", '{"a": 1, "b": "x"'), call("add", '{"a": 1, "b": 2}'), AiMessage("3")]
    )
    result = run(model, "x", [add], arguments_error=ErrorPolicy.TELL_MODEL)
    first, second = results_of(result.messages)
    assert first.is_error
    assert "not valid JSON" in first.text
    assert second.text == "3"


def test_unknown_tools_are_raised(run: Run):
    model = ScriptedChatModel([call("ad")])
    with pytest.raises(UnknownToolError, match='no tool named "ad"; available: add') as raised:
        run(model, "x", [add])
    assert_well_formed(raised.value.result.messages)


def test_unknown_tools_may_be_told_with_the_nearest_names(run: Run):
    model = ScriptedChatModel([call("ad"), AiMessage("x")])
    result = run(model, "x", [add], unknown_tool=ErrorPolicy.TELL_MODEL)
    message = results_of(result.messages)[0]
    assert message.is_error
    assert "Did you mean add?" in message.text


def test_handlers_write_the_text(run: Run):
    seen: list[Any] = []

    def handler(call: ToolCall, error: Exception) -> str:
        seen.append((call.name, type(error)))
        return "try again"

    model = ScriptedChatModel([call("ad"), call("add", "{}"), call("fail", '{"x": "1"}'), AiMessage("x")])
    result = run(
        model, "x", [add, fail], unknown_tool=handler, arguments_error=handler, execution_error=handler
    )
    assert [message.text for message in results_of(result.messages)] == ["try again"] * 3
    assert all(message.is_error for message in results_of(result.messages))
    assert seen == [("ad", UnknownToolError), ("add", ToolArgumentsError), ("fail", ToolExecutionError)]


def test_a_handler_may_end_the_run(run: Run):
    def handler(call: ToolCall, error: Exception) -> str:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        run(ScriptedChatModel([call("fail", '{"x": "1"}')]), "x", [fail], execution_error=handler)


def test_a_handler_must_return_text(run: Run):
    with pytest.raises(ConfigurationError, match="must return text for the model, got NoneType"):
        run(ScriptedChatModel([call("ad")]), "x", [add], unknown_tool=lambda call, error: None)


def test_sequential_calls_stop_at_the_one_that_ends_the_run(run: Run):
    ran: list[str] = []

    def note(x: str) -> str:
        """Note."""
        ran.append(x)
        return x

    calls = [
        ToolCall("1", "note", '{"x": "a"}'),
        ToolCall("2", "note", "{}"),
        ToolCall("3", "note", '{"x": "c"}'),
    ]
    with pytest.raises(ToolArgumentsError) as raised:
        run(ScriptedChatModel([AiMessage(tool_calls=calls)]), "x", [note])
    assert ran == ["a"]
    assert_well_formed(raised.value.result.messages)
    assert [execution.result.text for execution in raised.value.result.executions] == ["a"]


def test_identical_calls_run_once_each(run: Run):
    count = iter(range(1, 9))

    def next_number() -> int:
        """Count."""
        return next(count)

    calls = [
        ToolCall("", "next_number"),
        ToolCall("", "next_number"),
        ToolCall("k", "next_number"),
        ToolCall("k", "next_number"),
    ]
    result = run(ScriptedChatModel([AiMessage(tool_calls=calls), AiMessage("x")]), "x", [next_number])
    assert [message.text for message in results_of(result.messages)] == ["1", "2", "3", "4"]
    assert_well_formed(result.messages)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_no_error_passes_through(error: type[BaseException]):
    def stop() -> str:
        """Stop."""
        raise error

    with pytest.raises(error):
        _run_tools(ScriptedChatModel([call("stop")]), "x", [stop])


def test_cancellation_passes_through():
    started = asyncio.Event()

    async def wait_for_ever() -> str:
        """Wait."""
        started.set()
        await asyncio.sleep(3600)
        return "never"

    async def scenario() -> None:
        task = asyncio.create_task(
            _arun_tools(ScriptedChatModel([call("wait_for_ever")]), "x", [wait_for_ever])
        )
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())


def test_blocking_tools_do_not_hold_up_the_event_loop():
    ticked = threading.Event()

    def wait_for_tick() -> bool:
        """Wait until the event loop has had its turn."""
        return ticked.wait(10)

    async def scenario() -> Any:
        async def tick() -> None:
            await asyncio.sleep(0)
            ticked.set()

        ticking = asyncio.create_task(tick())
        result = await _arun_tools(
            ScriptedChatModel([call("wait_for_tick"), AiMessage("x")]), "x", [wait_for_tick]
        )
        await ticking
        return result

    assert results_of(asyncio.run(scenario()).messages)[0].text == "true"


def test_inline_tools_stay_on_the_event_loop():
    @tool("Which thread", inline=True)
    def which() -> str:
        return threading.current_thread().name

    result = asyncio.run(_arun_tools(ScriptedChatModel([call("which"), AiMessage("x")]), "x", [which]))
    assert results_of(result.messages)[0].text == threading.main_thread().name


def test_async_tools_in_a_running_loop_need_the_async_way():
    async def scenario() -> None:
        with pytest.raises(ConfigurationError, match="Tool add_async is async and an event loop is running"):
            _run_tools(ScriptedChatModel([call("add_async", '{"a": 1, "b": 2}')]), "x", [add_async])

    asyncio.run(scenario())


def test_specifications_with_executors(run: Run):
    specification = ToolSpecification("look_up", "Looks up", {"type": "object", "properties": {}})
    seen: list[ToolCall] = []

    def execute(call: ToolCall, context: Any) -> str:
        seen.append(call)
        return "found"

    result = run(
        ScriptedChatModel([call("look_up", '{"q": 1}'), AiMessage("x")]), "x", {specification: execute}
    )
    assert results_of(result.messages)[0].text == "found"
    assert seen[0].arguments == '{"q": 1}'


def test_an_executor_may_be_async_and_say_more(run: Run):
    async def execute(call: ToolCall, context: Any) -> ToolResult:
        return ToolResult(7, return_behavior=ReturnBehavior.IMMEDIATE, attributes={"k": 1})

    result = run(ScriptedChatModel([call("f")]), "x", {ToolSpecification("f"): execute})
    assert result.content is None
    assert result.executions[0].result == ToolExecutionResult(
        "7", value=7, attributes={"k": 1}, return_behavior=ReturnBehavior.IMMEDIATE
    )
    assert results_of(result.messages)[0].attributes == {"k": 1}


def test_executor_objects_of_any_kind(run: Run):
    class Plain:
        def execute(self, call: ToolCall, context: Any) -> Any:
            return {"ok": True}

    class Both:
        def execute(self, call: ToolCall, context: Any) -> Any:
            return "both"

        async def aexecute(self, call: ToolCall, context: Any) -> Any:
            return "both"

    tools = {ToolSpecification("plain"): Plain(), ToolSpecification("both"): Both()}
    calls = AiMessage(tool_calls=[ToolCall("1", "plain"), ToolCall("2", "both")])
    result = run(ScriptedChatModel([calls, AiMessage("x")]), "x", tools)
    assert [message.text for message in results_of(result.messages)] == ['{"ok":true}', "both"]


@pytest.mark.parametrize(
    ("error", "kind"), [(ValueError("v"), ToolExecutionError), (None, ToolArgumentsError)]
)
def test_what_executors_raise(run: Run, error: Exception | None, kind: type[Exception]):
    def execute(call: ToolCall, context: Any) -> str:
        raise error or ToolArgumentsError(call.name, [])

    with pytest.raises(kind):
        run(
            ScriptedChatModel([call("f")]),
            "x",
            {ToolSpecification("f"): execute},
            execution_error=ErrorPolicy.RAISE,
        )


def test_contents_as_results(run: Run):
    def draw() -> Any:
        """Draw."""
        return [ImageContent(data=b"x", mime_type="image/png"), "a square"]

    result = run(ScriptedChatModel([call("draw"), AiMessage("x")]), "x", [draw])
    message = results_of(result.messages)[0]
    assert message.text == "a square"
    assert [content.type for content in message.contents] == ["image", "text"]


def test_a_result_that_cannot_be_written_is_an_execution_error(run: Run):
    def odd() -> object:
        """Odd."""
        return object()

    result = run(ScriptedChatModel([call("odd"), AiMessage("x")]), "x", [odd])
    message = results_of(result.messages)[0]
    assert message.is_error
    assert "cannot be written as JSON" in message.text


def test_results_of_a_round_may_end_the_run(run: Run):
    @tool("Order", return_behavior=ReturnBehavior.IMMEDIATE)
    def order(item: str) -> str:
        return f"order-{item}"

    model = ScriptedChatModel([call("order", '{"item": "tea"}')])
    result = run(model, "x", [order])
    assert result.content is None
    assert result.executions[0].result.value == "order-tea"
    assert len(model.requests) == 1


@pytest.mark.parametrize("choice", ["required", ToolChoice.REQUIRED, "add"])
def test_tool_choice_by_name_or_kind(run: Run, choice: Any):
    model = ScriptedChatModel([AiMessage("x")])
    run(model, "x", [add], tool_choice=choice)
    assert model.requests[0].tool_choice == choice


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tool_choice": "sub"}, "tool_choice must be one of auto, required, none, add; got 'sub'"),
        ({"parameters": 3}, "parameters must be a mapping"),
        ({"max_rounds": -1}, "max_rounds"),
        ({"unknown_tool": "raise"}, "unknown_tool must be an ErrorPolicy"),
        ({"execution_error": None}, "execution_error must be an ErrorPolicy"),
    ],
)
def test_wrong_options(run: Run, options: dict[str, Any], text: str):
    with pytest.raises(ConfigurationError, match=text):
        run(ScriptedChatModel([]), "x", [add], **options)


def test_a_service_is_shared_by_many_runs(run: Run):
    service = ToolService([add])
    for _ in range(3):
        model = ScriptedChatModel([call("add", '{"a": 1, "b": 2}'), AiMessage("3")])
        assert run(model, "x", service).content == "3"
        assert model.requests[0].tools is service.context().effective_tools


def test_a_script_that_ends_is_a_model_error(run: Run):
    with pytest.raises(ModelError, match="request 1 has none"):
        run(ScriptedChatModel([]), "x")


def test_any_exception_of_a_model_passes_through(run: Run):
    with pytest.raises(ZeroDivisionError):
        run(ScriptedChatModel([ZeroDivisionError("x")]), "x")


def test_many_conversations_at_once():
    async def scenario() -> list[Any]:
        service = ToolService([add_async])

        def reply(request: Any) -> AiMessage:
            if request.messages[-1].role == "tool":
                return AiMessage(request.messages[-1].text)
            return call("add_async", {"a": int(request.messages[0].text), "b": 1})

        return await asyncio.gather(
            *(_arun_tools(ScriptedChatModel([reply, reply]), str(number), service) for number in range(200))
        )

    assert [result.content for result in asyncio.run(scenario())] == [
        str(number + 1) for number in range(200)
    ]


def stop_iteration() -> str:
    """Ask for more than there is."""
    return next(iter([]))


def yields_then_fails() -> Any:
    """Yield and fail."""
    yield 1
    raise OSError("the disk is full")


def yields_what_is_long() -> Any:
    """Yield."""
    yield 2**70
    yield "\ud800"


@pytest.mark.parametrize(
    ("function", "text", "is_error"),
    [
        (stop_iteration, "StopIteration", True),
        (yields_then_fails, "the disk is full", True),
        (yields_what_is_long, '[1180591620717411303424,"\ufffd"]', False),
    ],
)
def test_iterators_at_their_end(run: Run, function: Callable[[], Any], text: str, is_error: bool):
    model = ScriptedChatModel([call(function.__name__), AiMessage("x")])
    message = results_of(run(model, "x", [function]).messages)[0]
    assert (message.text, message.is_error) == (text, is_error)


def test_a_withheld_answer_without_calls_is_an_error(run: Run):
    withheld = ChatResponse(AiMessage(""), finish_reason=FinishReason.CONTENT_FILTER)
    with pytest.raises(ModelError, match="withheld by a content filter"):
        run(ScriptedChatModel([withheld]), "x")
    cut = ChatResponse(AiMessage("the start"), finish_reason=FinishReason.CONTENT_FILTER)
    assert run(ScriptedChatModel([cut]), "x").content == "the start"
