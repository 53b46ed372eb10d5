"""A model that says what it was told to say: for tests, and for measuring all but the model."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fasttool.errors import ConfigurationError, ModelError, ModelResponseError
from fasttool.messages import AiMessage, ChatRequest, ChatResponse, FinishReason
from fasttool.models.stream import (
    ModelEvent,
    ResponseComplete,
    TextDelta,
    ToolCallComplete,
    ToolCallDelta,
    complete_calls,
)


@dataclass(slots=True, init=False)
class ScriptedStream:
    """A reply that is given piece by piece, just as it stands here.

    Args:
        events: events of the model, the last of them ``ResponseComplete``; an exception among them is
            raised in its place.

    Raises:
        ConfigurationError: there is something else among them.
    """

    events: tuple[ModelEvent | BaseException, ...]

    def __init__(self, events: Iterable[ModelEvent | BaseException]) -> None:
        self.events = tuple(events)
        for event in self.events:
            if not isinstance(event, (ModelEvent, BaseException)):
                raise ConfigurationError(
                    "A scripted stream consists of a model's events (TextDelta, ..., ResponseComplete) and "
                    f"exceptions, got {type(event).__name__}."
                )


Reply = AiMessage | ChatResponse | ScriptedStream | BaseException | Callable[[ChatRequest], Any]


class ScriptedChatModel:
    """Gives one reply per request, in order; whole, or piece by piece.

    Args:
        replies: messages, whole responses or streams to give, exceptions to raise, or functions of the
            request that return one of those.
        chunk_size: characters of a piece, where a whole reply is asked for piece by piece.

    Attributes:
        requests: what it was asked, in order.

    Raises:
        ConfigurationError: one of them cannot be used.
    """

    def __init__(self, replies: Iterable[Reply], *, chunk_size: int = 4) -> None:
        self._replies = list(replies)
        for reply in self._replies:
            if not isinstance(reply, (AiMessage, ChatResponse, ScriptedStream, BaseException)) and not (
                callable(reply)
            ):
                raise ConfigurationError(
                    "A scripted reply is an AiMessage, a ChatResponse, a ScriptedStream, an exception or a "
                    f"function of the request, got {type(reply).__name__}."
                )
        if type(chunk_size) is not int or chunk_size < 1:
            raise ConfigurationError(f"chunk_size must be a number of characters from 1, got {chunk_size!r}.")
        self._chunk_size = chunk_size
        self._lock = threading.Lock()
        self.requests: list[ChatRequest] = []

    def chat(self, request: ChatRequest) -> ChatResponse:
        """Give the next reply; of a stream, what it comes to.

        Raises:
            ModelError: there is no reply left.
        """
        reply = self._next(request)
        if isinstance(reply, ChatResponse):
            return reply
        for event in _played(reply):
            if isinstance(event, ResponseComplete):
                return event.response
        raise ModelResponseError("The scripted stream ends without an answer.")

    async def achat(self, request: ChatRequest) -> ChatResponse:
        """Give the next reply; see ``chat``."""
        return self.chat(request)

    def stream(self, request: ChatRequest) -> Generator[ModelEvent, None, None]:
        """Give the next reply piece by piece.

        Raises:
            ModelError: there is no reply left.
        """
        reply = self._next(request)
        yield from _played(reply) if isinstance(reply, ScriptedStream) else self._pieces_of(reply)

    async def astream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        """Give the next reply piece by piece; see ``stream``."""
        for event in self.stream(request):
            yield event

    def _next(self, request: ChatRequest) -> ChatResponse | ScriptedStream:
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        if number >= len(self._replies):
            raise ModelError(f"The script has {len(self._replies)} replies; request {number + 1} has none.")
        reply: Any = self._replies[number]
        if callable(reply) and not isinstance(reply, BaseException):
            reply = reply(request)
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, AiMessage):
            reason = FinishReason.TOOL_CALLS if reply.tool_calls else FinishReason.STOP
            return ChatResponse(reply, finish_reason=reason)
        if not isinstance(reply, (ChatResponse, ScriptedStream)):
            raise ConfigurationError(
                f"Scripted reply {number + 1} gave a {type(reply).__name__}, not a message."
            )
        return reply

    def _pieces_of(self, response: ChatResponse) -> Iterator[ModelEvent]:
        for piece in self._cut(response.message.text or ""):
            yield TextDelta(piece)
        complete: dict[int, ToolCallComplete] = {event.index: event for event in complete_calls(response)}
        for index, call in enumerate(response.message.tool_calls):
            for piece in self._cut(call.arguments) or [""]:
                yield ToolCallDelta(index, call.id, call.name, piece)
            if index in complete:
                yield complete[index]
        yield ResponseComplete(response)

    def _cut(self, text: str) -> list[str]:
        size = self._chunk_size
        return [text[start : start + size] for start in range(0, len(text), size)]


def _played(script: ScriptedStream) -> Iterator[ModelEvent]:
    for event in script.events:
        if isinstance(event, BaseException):
            raise event
        yield event
