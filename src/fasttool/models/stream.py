"""What a model says piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fasttool import json_text
from fasttool.messages import ChatResponse, FinishReason, ToolCall

CUT_SHORT = (FinishReason.LENGTH, FinishReason.CONTENT_FILTER)
"""Why a model stopped before it had said all."""


@dataclass(slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(slots=True)
class ReasoningDelta:
    """A piece of what the model thinks before it answers."""

    text: str


@dataclass(slots=True)
class ToolCallDelta:
    """A piece of a call.

    Args:
        index: the place of the call in the answer, from 0.
        id: the id of the call, as far as it is known.
        name: the name of the tool, as far as it is known.
        arguments: a piece of the argument text.
    """

    index: int
    id: str
    name: str
    arguments: str


@dataclass(slots=True)
class ToolCallComplete:
    """A call is whole; said once per call, in the order of the answer.

    Args:
        index: the place of the call in the answer, from 0.
        call: the call.
    """

    index: int
    call: ToolCall


@dataclass(slots=True)
class ResponseComplete:
    """The answer is whole; said once, and last."""

    response: ChatResponse


ModelEvent = TextDelta | ReasoningDelta | ToolCallDelta | ToolCallComplete | ResponseComplete


def is_whole(arguments: str) -> bool:
    """Return whether argument text is a whole JSON object, to which nothing can be added any more."""
    if not arguments.rstrip().endswith("}"):
        return False
    try:
        return isinstance(json_text.decode(arguments), dict)
    except json_text.JsonTextError:
        return False


def complete_calls(response: ChatResponse) -> Iterator[ToolCallComplete]:
    """Give the calls of an answer that may run: all but a last one that was cut off in its arguments."""
    calls = response.message.tool_calls
    for index, call in enumerate(calls):
        is_cut = index == len(calls) - 1 and response.finish_reason in CUT_SHORT
        if not is_cut or is_whole(call.arguments):
            yield ToolCallComplete(index, call)
