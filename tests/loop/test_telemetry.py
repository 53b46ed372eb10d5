"""Spans of runs, collected by the real SDK."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Protocol

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from fasttool import ToolCall, ai_service, arun_tools, run_tools, stream_tools
from fasttool.errors import ConfigurationError, MissingExtraError, ModelServerError
from fasttool.loop.telemetry import OpenTelemetry
from fasttool.messages import AiMessage, ChatResponse, FinishReason, TokenUsage
from fasttool.models import ScriptedChatModel

EXPORTER = InMemorySpanExporter()
PROVIDER = TracerProvider()
PROVIDER.add_span_processor(SimpleSpanProcessor(EXPORTER))
TRACER = PROVIDER.get_tracer("tests")


class Named(ScriptedChatModel):
    model = "small-1"


def look(x: str) -> str:
    """Look."""
    with TRACER.start_as_current_span("inside"):
        return f"seen {x}"


async def fail(x: str) -> str:
    """Fail."""
    raise ValueError("boom")


def model() -> Named:
    calls = [ToolCall("1", "look", '{"x": "a"}'), ToolCall("2", "fail", '{"x": "b"}')]
    usage = TokenUsage(10, 2, 12)
    first = ChatResponse(AiMessage(tool_calls=calls), usage, FinishReason.TOOL_CALLS, "small-1-2026", "r1")
    return Named([first, ChatResponse(AiMessage("done"), usage, FinishReason.STOP)])


async def to_end(stream: Any) -> None:
    async for _ in stream:
        pass


def run(way: str, **options: Any) -> dict[str, Any]:
    EXPORTER.clear()
    options = {"telemetry": OpenTelemetry(TRACER, **options.pop("spans", {})), **options}
    arguments = (model(), "hi", [look, fail])
    if way == "sync":
        run_tools(*arguments, **options)
    elif way == "async":
        asyncio.run(arun_tools(*arguments, **options))
    elif way == "stream":
        list(stream_tools(*arguments, **options))
    else:
        asyncio.run(to_end(stream_tools(*arguments, **options)))
    return {span.name: span for span in EXPORTER.get_finished_spans()}


@pytest.mark.parametrize("concurrent", [False, True])
@pytest.mark.parametrize("way", ["sync", "async", "stream", "async stream"])
def test_a_run_has_a_span_for_each_request_and_each_call(way: str, concurrent: bool) -> None:
    spans = run(way, concurrent=concurrent)
    names = sorted(span.name for span in EXPORTER.get_finished_spans())
    assert names == [
        "chat small-1",
        "chat small-1",
        "execute_tool fail",
        "execute_tool look",
        "inside",
        "invoke_agent",
    ]
    root = spans["invoke_agent"]
    for name in ("chat small-1", "execute_tool look", "execute_tool fail"):
        assert spans[name].parent.span_id == root.context.span_id
    assert spans["inside"].parent.span_id == spans["execute_tool look"].context.span_id
    assert root.attributes["gen_ai.usage.input_tokens"] == 20
    assert root.attributes["gen_ai.conversation.id"] == "default"
    assert spans["execute_tool look"].attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.id": "1",
        "gen_ai.tool.type": "function",
    }
    assert spans["execute_tool fail"].status.status_code is StatusCode.ERROR
    assert spans["execute_tool fail"].attributes["error.type"] == "ToolExecutionError"
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_requests_say_what_was_asked_and_answered() -> None:
    run("sync", parameters={"temperature": 0.5, "messages_of_mine": [1]})
    first = next(span for span in EXPORTER.get_finished_spans() if span.name == "chat small-1")
    assert dict(first.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small-1",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.response.model": "small-1-2026",
        "gen_ai.response.id": "r1",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 2,
    }


def test_content_is_recorded_only_on_request() -> None:
    spans = run("sync", spans={"record_content": True})
    attributes = spans["execute_tool look"].attributes
    assert attributes["gen_ai.tool.call.arguments"] == '{"x": "a"}'
    assert attributes["gen_ai.tool.call.result"] == "seen a"


def test_a_run_that_fails_or_is_cancelled_ends_its_spans() -> None:
    EXPORTER.clear()
    with pytest.raises(ModelServerError):
        run_tools(Named([ModelServerError("down")]), "hi", telemetry=OpenTelemetry(TRACER))
    spans = {span.name: span for span in EXPORTER.get_finished_spans()}
    assert spans["chat small-1"].attributes["error.type"] == "ModelServerError"
    assert spans["invoke_agent"].status.status_code is StatusCode.ERROR
    EXPORTER.clear()

    async def cancelled() -> None:
        async def hang() -> str:
            """Hang."""
            await asyncio.sleep(3600)
            return "never"

        answer = AiMessage(tool_calls=[ToolCall("1", "hang")])
        task = asyncio.create_task(arun_tools(Named([answer]), "hi", [hang], telemetry=OpenTelemetry(TRACER)))
        while not EXPORTER.get_finished_spans():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    spans = {span.name: span for span in EXPORTER.get_finished_spans()}
    assert spans["execute_tool hang"].attributes["error.type"] == "CancelledError"
    assert spans["invoke_agent"].attributes["error.type"] == "CancelledError"


def test_the_spans_of_a_service_have_its_name() -> None:
    class Helper(Protocol):
        def chat(self, text: str) -> str: ...

    EXPORTER.clear()
    ai_service(Helper, chat_model=Named([AiMessage("ok")]), telemetry=OpenTelemetry(TRACER)).chat("hi")
    names = [span.name for span in EXPORTER.get_finished_spans()]
    assert names == ["chat small-1", "invoke_agent Helper.chat"]


def test_wrong_options(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="must be an OpenTelemetry, got str"):
        run_tools(Named([]), "hi", telemetry="yes")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingExtraError, match=r"fasttool\[otel\]"):
        OpenTelemetry()
