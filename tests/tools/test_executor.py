"""Executors: functions and objects that run a call, and what they give."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fasttool.errors import ConfigurationError, ToolArgumentsError, ToolExecutionError
from fasttool.messages import ImageContent, TextContent, ToolCall
from fasttool.specification import ReturnBehavior
from fasttool.tools import ToolExecutionResult, ToolExecutor, ToolResult, tool_plan
from fasttool.tools.executor import FunctionExecutor, as_executor, execution_error, execution_result

CALL = ToolCall("1", "t", '{"a": 1}')
IMAGE = ImageContent(url="http://x/y.png")


class Both:
    def execute(self, call: ToolCall, context: Any) -> Any:
        return ToolExecutionResult("sync")

    async def aexecute(self, call: ToolCall, context: Any) -> Any:
        return ToolExecutionResult("async")


class One:
    def execute(self, call: ToolCall, context: Any) -> str:
        return f"{call.name} {call.arguments} {context}"


async def later(call: ToolCall, context: Any) -> str:
    await asyncio.sleep(0)
    return f"later {context}"


@pytest.mark.parametrize(
    ("executor", "text"),
    [
        (One(), 't {"a": 1} ctx'),
        (lambda call, context: [call.id], '["1"]'),
        (later, "later ctx"),
        (lambda call, context: later(call, context), "later ctx"),
        (lambda call, context: None, "Success"),
    ],
)
def test_functions_and_objects(executor: Any, text: str) -> None:
    made = as_executor(executor, "t")
    assert isinstance(made, ToolExecutor)
    assert made.execute(CALL, "ctx").text == text
    assert asyncio.run(made.aexecute(CALL, "ctx")).text == text


def test_whole_executors_are_kept() -> None:
    both = Both()
    assert as_executor(both, "t") is both
    with pytest.raises(ConfigurationError, match="The executor of tool t must be a function of"):
        as_executor(5, "t")


def raising(error: Exception) -> Any:
    def run(call: ToolCall, context: Any) -> str:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConfigurationError("c"), ConfigurationError),
        (ToolArgumentsError("t", []), ToolArgumentsError),
        (ToolExecutionError("t", "x"), ToolExecutionError),
        (KeyError(), ToolExecutionError),
    ],
)
def test_errors(error: Exception, kind: type[Exception]) -> None:
    executor = FunctionExecutor(raising(error))
    for run in (lambda: executor.execute(CALL, None), lambda: asyncio.run(executor.aexecute(CALL, None))):
        with pytest.raises(kind) as raised:
            run()
        assert raised.value is error or raised.value.__cause__ is error


def test_execution_error() -> None:
    own = ToolExecutionError("t", "x")
    assert execution_error("t", own) is own
    assert str(execution_error("t", ValueError(" bad \n"))) == "bad"
    assert str(execution_error("t", ValueError(" "))) == "ValueError"


def test_results() -> None:
    result = ToolExecutionResult("x")
    assert execution_result("t", result) is result
    told = execution_result(
        "t",
        ToolResult([1], return_behavior=ReturnBehavior.IMMEDIATE, attributes={"k": 1}, is_error=True),
    )
    assert told == ToolExecutionResult("[1]", (), [1], True, {"k": 1}, ReturnBehavior.IMMEDIATE)
    shown = execution_result("t", ["a", IMAGE])
    assert (shown.text, shown.contents, shown.value) == ("a", (TextContent("a"), IMAGE), ["a", IMAGE])
    assert execution_result("t", "é\ud800").text == "é�"
    assert execution_result("t", None, nothing="null").text == "null"
    with pytest.raises(
        ToolExecutionError, match="Tool t ran, but its result, a object, cannot be written as JSON"
    ):
        execution_result("t", object())


def test_a_result_inside_a_result_keeps_both() -> None:
    def t() -> Any:
        """Test."""
        return ToolResult(ToolResult("x", attributes={"inner": 1}), attributes={"outer": 1})

    assert tool_plan(t).call(None).text == "x"


def test_one_failing_value_does_not_stick() -> None:
    def t(n: int) -> Any:
        """Test."""
        return object() if n else n

    plan = tool_plan(t)
    with pytest.raises(ToolExecutionError):
        plan.call({"n": 1})
    assert plan.call({"n": 0}).text == "0"
