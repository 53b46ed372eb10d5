"""A model that says what it was told to say: for tests, and for measuring all but the model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from fasttool.errors import ConfigurationError, ModelError
from fasttool.messages import AiMessage, ChatRequest, ChatResponse, FinishReason

Reply = AiMessage | ChatResponse | BaseException | Callable[[ChatRequest], Any]


class ScriptedChatModel:
    """Gives one reply per request, in order.

    Args:
        replies: messages or whole responses to give, exceptions to raise, or functions of the
            request that return one of those.

    Attributes:
        requests: what it was asked, in order.
    """

    def __init__(self, replies: Iterable[Reply]) -> None:
        self._replies = list(replies)
        for reply in self._replies:
            if not isinstance(reply, (AiMessage, ChatResponse, BaseException)) and not callable(reply):
                raise ConfigurationError(
                    "A scripted reply is an AiMessage, a ChatResponse, an exception or a function of the "
                    "request, "
                    f"got {type(reply).__name__}."
                )
        self._lock = threading.Lock()
        self.requests: list[ChatRequest] = []

    def chat(self, request: ChatRequest) -> ChatResponse:
        """Give the next reply.

        Raises:
            ModelError: there is no reply left.
        """
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
        if not isinstance(reply, ChatResponse):
            raise ConfigurationError(
                f"Scripted reply {number + 1} gave a {type(reply).__name__}, not a message."
            )
        return reply

    async def achat(self, request: ChatRequest) -> ChatResponse:
        """Give the next reply; see ``chat``."""
        return self.chat(request)
