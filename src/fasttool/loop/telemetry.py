"""Spans of a run, by OpenTelemetry's conventions for generative AI.

A run is a span ``invoke_agent``, each request to the model one ``chat MODEL``, each call one
``execute_tool NAME``.  While a tool runs its span is the current one, so that what the tool does is
below it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from fasttool.errors import MissingExtraError
from fasttool.loop.effects import RunTools
from fasttool.loop.events import RunCompleted, RunEvent, RunFailed, RunPaused, RunStarted
from fasttool.messages import ChatRequest, ChatResponse, ToolCall
from fasttool.models.protocol import ChatModel, astream_of, stream_of
from fasttool.models.stream import ModelEvent, ResponseComplete
from fasttool.tools.executor import ToolExecutionResult, ToolExecutor, execution_result

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer


class OpenTelemetry:
    """What to trace a run with: ``run_tools(..., telemetry=OpenTelemetry())``; one object serves all runs.

    Args:
        tracer: makes the spans; by default that of the process for ``fasttool``.
        record_content: arguments and results of calls become attributes too; they may hold what is not for
            a log.

    Raises:
        MissingExtraError: opentelemetry-api is not installed.
    """

    def __init__(self, tracer: Tracer | None = None, *, record_content: bool = False) -> None:
        try:
            from opentelemetry import trace
        except ImportError:
            raise MissingExtraError("OpenTelemetry", extra="otel", package="opentelemetry-api") from None
        self._tracer = tracer or trace.get_tracer("fasttool")
        self._record_content = record_content

    def run(self, model: ChatModel) -> RunTrace:
        """Return what traces one run of a model."""
        return RunTrace(self._tracer, model, self._record_content)


class RunTrace:
    """The spans of one run; a listener of it.

    Args:
        tracer: makes the spans.
        model: answers the requests.
        record_content: arguments and results become attributes.

    Attributes:
        model: the model to ask instead, with a span for each request.
    """

    def __init__(self, tracer: Tracer, model: ChatModel, record_content: bool) -> None:
        self.tracer = tracer
        self.record_content = record_content
        self.model = _TracedModel(self, model)
        self._root: Span | None = None
        self._root_context: Any = None

    def __call__(self, event: RunEvent) -> None:
        """Begin and end the span of the run."""
        from opentelemetry import trace

        if isinstance(event, RunStarted):
            context = event.context
            name = ".".join(filter(None, (context.interface, context.method)))
            self._root = self.tracer.start_span(f"invoke_agent {name}".rstrip())
            self._root_context = trace.set_span_in_context(self._root)
            self._root.set_attribute("gen_ai.operation.name", "invoke_agent")
            self._root.set_attribute("gen_ai.conversation.id", str(context.memory_id))
            if name:
                self._root.set_attribute("gen_ai.agent.name", name)
        elif self._root is not None and isinstance(event, (RunCompleted, RunPaused, RunFailed)):
            if isinstance(event, RunFailed):
                _fail(self._root, event.error)
            else:
                _set_usage(self._root, event.result.usage)
            self._root.end()
            self._root = None

    def trace_calls(self, effect: RunTools) -> None:
        """Give each call of a round a span."""
        for invocation in effect.invocations:
            invocation.executor = _TracedExecutor(self, invocation.executor)

    def span(self, name: str, operation: str) -> Span:
        """Return a new span below that of the run."""
        span = self.tracer.start_span(name, context=self._root_context)
        span.set_attribute("gen_ai.operation.name", operation)
        return span


class _TracedExecutor:
    """Runs a tool with a span of its own, the current one meanwhile."""

    def __init__(self, trace: RunTrace, executor: ToolExecutor) -> None:
        self._trace = trace
        self._executor = executor

    def execute(self, call: ToolCall, context: Any) -> ToolExecutionResult:
        """Run, blocking."""
        from opentelemetry.trace import use_span

        span = self._begin(call)
        with use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                return self._ended(span, call, self._executor.execute(call, context))
            except BaseException as error:
                _fail(span, error)
                raise

    async def aexecute(self, call: ToolCall, context: Any) -> ToolExecutionResult:
        """Run, without blocking the event loop."""
        from opentelemetry.trace import use_span

        span = self._begin(call)
        with use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                return self._ended(span, call, await self._executor.aexecute(call, context))
            except BaseException as error:
                _fail(span, error)
                raise

    def _begin(self, call: ToolCall) -> Span:
        span = self._trace.span(f"execute_tool {call.name}", "execute_tool")
        span.set_attribute("gen_ai.tool.name", call.name)
        span.set_attribute("gen_ai.tool.call.id", call.id)
        span.set_attribute("gen_ai.tool.type", "function")
        if self._trace.record_content:
            span.set_attribute("gen_ai.tool.call.arguments", call.arguments)
        return span

    def _ended(self, span: Span, call: ToolCall, value: Any) -> ToolExecutionResult:
        result = value if type(value) is ToolExecutionResult else execution_result(call.name, value)
        if result.is_error:
            _fail(span, "tool_error", result.text if self._trace.record_content else "")
        if self._trace.record_content:
            span.set_attribute("gen_ai.tool.call.result", result.text)
        return result


class _TracedModel:
    """Asks a model with a span for each request."""

    def __init__(self, trace: RunTrace, model: ChatModel) -> None:
        self._trace = trace
        self._model = model
        name = getattr(model, "model", None)
        self._name = name if isinstance(name, str) else ""

    def chat(self, request: ChatRequest) -> ChatResponse:
        """Answer, blocking."""
        span = self._begin(request)
        try:
            return self._ended(span, self._model.chat(request))
        except BaseException as error:
            _fail(span, error)
            raise
        finally:
            span.end()

    async def achat(self, request: ChatRequest) -> ChatResponse:
        """Answer, without blocking the event loop."""
        span = self._begin(request)
        try:
            return self._ended(span, await self._model.achat(request))
        except BaseException as error:
            _fail(span, error)
            raise
        finally:
            span.end()

    def stream(self, request: ChatRequest) -> Iterator[ModelEvent]:
        """Answer piece by piece."""
        span = self._begin(request)
        events = stream_of(self._model, request)
        try:
            for event in events:
                if isinstance(event, ResponseComplete):
                    self._ended(span, event.response)
                yield event
        except BaseException as error:
            _fail(span, error)
            raise
        finally:
            span.end()
            close = getattr(events, "close", None)
            if close is not None:
                close()

    async def astream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        """Answer piece by piece, without blocking the event loop."""
        span = self._begin(request)
        try:
            async with aclosing(astream_of(self._model, request)) as events:
                async for event in events:
                    if isinstance(event, ResponseComplete):
                        self._ended(span, event.response)
                    yield event
        except BaseException as error:
            _fail(span, error)
            raise
        finally:
            span.end()

    def _begin(self, request: ChatRequest) -> Span:
        span = self._trace.span(f"chat {self._name}".rstrip(), "chat")
        if self._name:
            span.set_attribute("gen_ai.request.model", self._name)
        for name in ("temperature", "max_tokens", "top_p", "seed"):
            value = request.parameters.get(name)
            if isinstance(value, (int, float)):
                span.set_attribute(f"gen_ai.request.{name}", value)
        return span

    def _ended(self, span: Span, response: ChatResponse) -> ChatResponse:
        if response.model:
            span.set_attribute("gen_ai.response.model", response.model)
        if response.id:
            span.set_attribute("gen_ai.response.id", response.id)
        if response.finish_reason is not None:
            span.set_attribute("gen_ai.response.finish_reasons", [response.finish_reason.value])
        _set_usage(span, response.usage)
        return response


def _set_usage(span: Span, usage: Any) -> None:
    if usage is not None:
        for name in ("input_tokens", "output_tokens"):
            if getattr(usage, name) is not None:
                span.set_attribute(f"gen_ai.usage.{name}", getattr(usage, name))


def _fail(span: Span, error: BaseException | str, text: str | None = None) -> None:
    from opentelemetry.trace import Status, StatusCode

    if isinstance(error, GeneratorExit):
        return  # nobody wants to hear the rest; that is no failure
    kind = error if isinstance(error, str) else type(error).__qualname__
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR, str(error) if text is None else text))
