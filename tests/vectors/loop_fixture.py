"""The tools, models and memories of the loop scenarios, in Python."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from fasttool.errors import ModelServerError
from fasttool.memory import MessageWindow, UnboundedMemory
from fasttool.messages import (
    AiMessage,
    ChatRequest,
    ChatResponse,
    FinishReason,
    ImageContent,
    Message,
    SystemMessage,
    TextContent,
    TokenUsage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from fasttool.models import ScriptedChatModel
from fasttool.specification import ReturnBehavior, ToolSpecification
from fasttool.tools import ServiceTool, compensate_for, tool
from fasttool.tools.executor import ToolExecution

IMMEDIATE = ReturnBehavior.IMMEDIATE


class BlankError(Exception):
    """Says nothing."""


class FixtureTools:
    """The tools of the scenarios; each writes into the log when it runs."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self._count = 0
        self._failures = 0

    def _ran(self, name: str, *values: Any) -> None:
        self.log.append(f"{name}:{','.join(map(str, values))}" if values else name)

    @tool
    def echo(self, x: str) -> str:
        self._ran("echo", x)
        return f"e:{x}"

    @tool
    def add(self, a: int, b: int) -> int:
        self._ran("add", a, b)
        return a + b

    @tool
    def act(self, x: str) -> None:
        self._ran("act", x)

    @tool
    def fail(self, x: str) -> str:
        self._ran("fail", x)
        raise RuntimeError(f"boom {x}")

    @tool(name="failBlank")
    def fail_blank(self) -> str:
        self._ran("failBlank")
        raise BlankError("  ")

    @tool
    def next(self) -> int:
        self._count += 1
        return self._count

    @tool(name="failFirst")
    def fail_first(self) -> str:
        self._failures += 1
        self._ran("failFirst", self._failures)
        if self._failures == 1:
            raise RuntimeError("first failed")
        return "ok"

    @tool
    def slow(self, ms: int) -> str:
        time.sleep(ms / 1000)
        self._ran("slow", ms)
        return f"s{ms}"

    @tool
    def multi(self, x: str) -> list[Any]:
        self._ran("multi", x)
        return [TextContent("t1"), ImageContent(url="http://127.0.0.1/x.png")]

    @compensate_for("multi")
    def undo_multi(self, x: str) -> None:
        self._ran("undo multi", x)

    @tool
    def book(self, x: str) -> str:
        self._ran("book", x)
        return f"B-{x}"

    @compensate_for("book")
    def unbook(self, x: str) -> None:
        self._ran("undo book", x)

    @tool
    def pay(self, x: str) -> str:
        self._ran("pay", x)
        return f"P-{x}"

    @compensate_for("pay")
    def refund(self, execution: ToolExecution) -> None:
        context = execution.context
        assert context is not None
        said = f"{execution.result.text} {execution.call.arguments} mem={context.memory_id}"
        self._ran("undo pay", said)

    @tool
    def brittle(self, x: str) -> str:
        self._ran("brittle", x)
        return f"X-{x}"

    @compensate_for("brittle")
    def break_again(self, x: str) -> None:
        self._ran("undo brittle raises", x)
        raise RuntimeError("brittle")

    @tool(name="immBook", return_behavior=IMMEDIATE)
    def imm_book(self, x: str) -> str:
        self._ran("immBook", x)
        return f"IB-{x}"

    @compensate_for("immBook")
    def undo_imm_book(self, x: str) -> None:
        self._ran("undo immBook", x)

    @tool(name="failUndoable")
    def fail_undoable(self, x: str) -> str:
        self._ran("failUndoable", x)
        raise RuntimeError(f"boom {x}")

    @compensate_for("failUndoable")
    def undo_fail(self, x: str) -> None:
        self._ran("undo failUndoable", x)

    @tool
    def mutate(self, l: list[str]) -> list[str]:  # noqa: E741
        l.append("m")
        self._ran("mutate", f"[{', '.join(l)}]")
        return l

    @compensate_for("mutate")
    def undo_mutate(self, values: list[str]) -> None:
        self._ran("undo mutate", f"[{', '.join(values)}]")

    @tool(return_behavior=IMMEDIATE)
    def imm(self, x: str) -> str:
        self._ran("imm", x)
        return f"i:{x}"

    @tool(name="immInt", return_behavior=IMMEDIATE)
    def imm_int(self, x: int) -> int:
        self._ran("immInt", x)
        return x

    @tool(name="immList", return_behavior=IMMEDIATE)
    def imm_list(self) -> list[str]:
        self._ran("immList")
        return ["a"]

    @tool(name="immVoid", return_behavior=IMMEDIATE)
    def imm_void(self) -> None:
        self._ran("immVoid")

    @tool(name="immNull", return_behavior=IMMEDIATE)
    def imm_null(self) -> str:
        self._ran("immNull")
        return None  # type: ignore[return-value]

    @tool(name="immFail", return_behavior=IMMEDIATE)
    def imm_fail(self) -> str:
        self._ran("immFail")
        raise RuntimeError("bad")

    @tool(return_behavior=ReturnBehavior.IMMEDIATE_IF_LAST)
    def last(self, x: str) -> str:
        self._ran("last", x)
        return f"l:{x}"


class FixtureProvider:
    """Gives the tools of a scenario: the i-th answer for the i-th call, the last one again after that."""

    def __init__(self, config: dict[str, Any], number: int, tools: FixtureTools, seen: list[str]) -> None:
        self.is_dynamic = config["dynamic"]
        self.calls = 0
        self._returns = config["returns"]
        self._number = number
        self._tools = tools
        self._seen = seen

    def provide_tools(self, request: Any) -> list[ServiceTool] | None:
        self.calls += 1
        user = request.user_message.text if request.user_message else None
        self._seen.append(f"p{self._number}#{self.calls} messages={len(request.messages)} user={user}")
        given = self._returns[min(self.calls, len(self._returns)) - 1]
        return None if given is None else [self._tool(entry) for entry in given]

    def _tool(self, entry: dict[str, Any]) -> ServiceTool:
        def execute(call: ToolCall, context: Any) -> str:
            self._tools.log.append(call.name)
            return str(entry.get("text", f"r:{call.name}"))

        behavior = ReturnBehavior[entry.get("return_behavior", "TO_LLM")]
        return ServiceTool(ToolSpecification(entry["name"], "Given."), execute, return_behavior=behavior)


def model_of(script: list[dict[str, Any]]) -> ScriptedChatModel:
    """Return the model of a scenario."""
    return ScriptedChatModel([_reply(entry) for entry in script])


def _reply(entry: dict[str, Any]) -> Any:
    if "error" in entry:
        return ModelServerError(entry["error"])
    calls = tuple(
        ToolCall(call["id"] or "", call["name"], call["arguments"]) for call in entry.get("tool_calls", ())
    )
    usage = entry.get("usage", {"input": 10, "output": 1})
    tokens = None
    if usage is not None:
        tokens = TokenUsage(usage["input"], usage["output"], usage["input"] + usage["output"])
    reason = FinishReason.TOOL_CALLS if calls else FinishReason.STOP
    return ChatResponse(AiMessage(entry.get("text"), calls), tokens, reason)


def memory_of(config: dict[str, Any]) -> Any:
    """Return the memory of a scenario; None for none."""
    if "memory_window" in config:
        return MessageWindow(config["memory_window"])
    return UnboundedMemory() if config.get("memory") else None


def message_form(message: Message) -> dict[str, Any]:
    """Return a message as the scenarios write it."""
    if isinstance(message, UserMessage):
        return {"role": "user", "text": message.text}
    if isinstance(message, SystemMessage):
        return {"role": "system", "text": message.text}
    if isinstance(message, ToolResultMessage):
        form: dict[str, Any] = {"role": "tool", "id": message.id, "name": message.tool_name}
        return form | result_form(message) | {"is_error": message.is_error}
    form = {"role": "ai", "text": message.text}
    if message.tool_calls:
        form["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls
        ]
    return form


def result_form(result: Any) -> dict[str, Any]:
    """Return the text or the contents of a result as the scenarios write them."""
    if not result.contents:
        return {"text": result.text}
    contents = [
        {"type": "text", "text": content.text} if isinstance(content, TextContent) else {"type": content.type}
        for content in result.contents
    ]
    return {"contents": contents}


def request_form(request: ChatRequest, like: dict[str, Any]) -> dict[str, Any]:
    """Return a request with the keys that a scenario writes of it."""
    form: dict[str, Any] = {"messages": [message_form(message) for message in request.messages]}
    if "tools" in like:
        form["tools"] = [specification.name for specification in request.tools]
    if "tool_choice" in like:
        form["tool_choice"] = None if request.tool_choice is None else request.tool_choice.name  # type: ignore[union-attr]
    return form


Retrieve = Callable[[UserMessage, Any], UserMessage]
