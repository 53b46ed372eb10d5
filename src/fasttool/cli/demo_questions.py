"""The demo's first part: questions of a public benchmark, one call each, checked against its answers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from fasttool.errors import (
    ModelResponseError,
    ModelServerError,
    ToolArgumentsError,
    UnknownToolError,
)
from fasttool.evaluation import BoundCall, Question, Verdict, read_questions
from fasttool.loop import run_tools
from fasttool.messages import ChatRequest, ChatResponse, ToolCall
from fasttool.models import ChatModel
from fasttool.specification import ReturnBehavior, ToolSpecification
from fasttool.tools import ToolExecutionResult, bind_schema

MAX_QUESTIONS = 500


class TimedModel:
    """Passes requests on, and keeps how long the answers took."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.nanoseconds = 0
        self.answered = 0

    def chat(self, request: ChatRequest) -> ChatResponse:
        """Answer, blocking."""
        start = time.perf_counter_ns()
        try:
            response = self._model.chat(request)
        finally:
            self.nanoseconds += time.perf_counter_ns() - start
        self.answered += 1
        return response

    async def achat(self, request: ChatRequest) -> ChatResponse:
        """Answer, without blocking the event loop."""
        return await self._model.achat(request)


@dataclass(slots=True)
class QuestionResult:
    """What became of one question.

    Args:
        id: the dataset's label.
        category: the dataset's category.
        question: what was asked.
        right: whether the calls are the ones that the dataset accepts.
        reason: why not; empty where it is right.
        calls: name and arguments as the model wrote them.
        bound: name and values as the functions would get them.
        model_ms: milliseconds in the model, its HTTP request included.
        fasttool_us: microseconds in all the rest of the run.
    """

    id: str
    category: str
    question: str
    right: bool = False
    reason: str = ""
    calls: list[dict[str, str]] = field(default_factory=list)
    bound: list[dict[str, Any]] = field(default_factory=list)
    model_ms: float = 0.0
    fasttool_us: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON has."""
        return asdict(self)


def choose_questions(number: int) -> Iterator[Question]:
    """Return questions: three quarters with one function, one quarter with several to choose from.

    Args:
        number: how many, 1 to MAX_QUESTIONS.
    """
    several = number // 4
    yield from islice(read_questions("simple_python"), number - several)
    yield from islice(read_questions("multiple"), several)


def ask(question: Question, model: TimedModel) -> QuestionResult:
    """Put one question to the model, its functions offered as tools, and judge the calls.

    The functions exist only as schemas: each executor binds the arguments against its schema,
    records them, and hands them to the caller at once, so that one round ends the run.

    Raises:
        ModelError: the model cannot be reached or refuses; a single answer that is unusable is wrong,
            unless it is the first.
    """
    result = QuestionResult(question.id, question.category, question.text)
    bound: list[BoundCall] = []

    def recorder(specification: ToolSpecification) -> Any:
        binder = bind_schema(specification)

        def record(call: ToolCall, context: Any) -> ToolExecutionResult:
            result.calls.append({"name": call.name, "arguments": call.arguments})
            values = binder.bind(call.arguments)
            bound.append(question.bound_call(call.name, values))
            return ToolExecutionResult("recorded", value=values, return_behavior=ReturnBehavior.IMMEDIATE)

        return record

    tools = {specification: recorder(specification) for specification in question.tools}
    before = model.nanoseconds
    start = time.perf_counter_ns()
    verdict = None
    try:
        run_tools(model, question.messages, tools, max_rounds=1)
    except (ToolArgumentsError, UnknownToolError) as error:
        verdict = Verdict(False, str(error))
    except (ModelResponseError, ModelServerError) as error:
        if not model.answered:
            raise  # an endpoint that never answers is not a model that errs
        verdict = Verdict(False, str(error))
    total = time.perf_counter_ns() - start
    in_model = model.nanoseconds - before
    verdict = verdict or question.check(bound)
    result.right, result.reason = verdict.right, verdict.reason
    result.bound = [{"name": call.name, "arguments": dict(call.arguments)} for call in bound]
    result.model_ms = round(in_model / 1e6, 1)
    result.fasttool_us = round((total - in_model) / 1e3, 1)
    return result
