"""Conversations for tests, and what is wrong with one."""

from __future__ import annotations

from collections.abc import Sequence

from fasttool.messages import AiMessage, Message, SystemMessage, ToolCall, ToolResultMessage


def calls(*ids: str) -> AiMessage:
    return AiMessage(tool_calls=[ToolCall(id, "tool") for id in ids])


def result(id: str, text: str = "ok") -> ToolResultMessage:
    return ToolResultMessage(id, "tool", text)


def round_of(*ids: str) -> list[Message]:
    """An assistant message with calls, and all its results."""
    return [calls(*ids), *(result(id) for id in ids)]


def units_of(history: Sequence[Message]) -> list[list[Message]]:
    """The units of a whole history, without the system message."""
    units: list[list[Message]] = []
    for message in history:
        if isinstance(message, ToolResultMessage):
            units[-1].append(message)
        elif not isinstance(message, SystemMessage):
            units.append([message])
    return units


def flaw(history: Sequence[Message]) -> str | None:
    """Why a provider would refuse a history; None if it would not."""
    open_calls: list[ToolCall] = []
    for place, message in enumerate(history):
        if isinstance(message, ToolResultMessage):
            if not open_calls:
                return f"message {place} is a result without a call"
            if open_calls.pop(0).id != message.id:
                return f"message {place} is not the result of the next call"
            continue
        if open_calls:
            return f"a call has no result before message {place}"
        if isinstance(message, SystemMessage) and place:
            return f"message {place} is a system message that is not first"
        if isinstance(message, AiMessage):
            open_calls = list(message.tool_calls)
    return "the last calls have no results" if open_calls else None
