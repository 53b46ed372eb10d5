"""Memories: what of a conversation is sent to the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from fasttool.errors import ConfigurationError
from fasttool.memory.conversation import DEFAULT_ID, Conversation
from fasttool.memory.protocol import ChatMemoryStore, ConversationId
from fasttool.memory.tokens import estimate_tokens
from fasttool.messages import Message


class UnboundedMemory(Conversation):
    """Sends the whole conversation.

    Args:
        id: the name of the conversation, also in the store.
        store: keeps it beyond this object; it is read when the memory is first used.

    Raises:
        ConfigurationError: an argument is wrong.

    >>> from fasttool.messages import SystemMessage, UserMessage
    >>> memory = UnboundedMemory()
    >>> memory.add(UserMessage("hi"), SystemMessage("Be kind."))
    >>> [message.role for message in memory.messages()]
    ['system', 'user']
    """

    __slots__ = ()

    def __init__(self, *, id: ConversationId = DEFAULT_ID, store: ChatMemoryStore | None = None) -> None:
        self._limit = None
        self._starts_at_user = False
        self._connect(id, store)


class _Window(Conversation):
    __slots__ = ()

    def _set_limit(self, name: str, limit: int, start_at_user: bool) -> None:
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise ConfigurationError(f"{name} must be a whole number of 1 or more, got {limit!r}.")
        self._limit = limit
        self._starts_at_user = bool(start_at_user)


class MessageWindow(_Window):
    """Sends the newest messages, and the system message.

    What leaves the window leaves it in units: an assistant message with calls goes together with
    all its results.  The last unit stays even where it alone is larger than the window.

    Args:
        max_messages: how many, the system message included.
        id: the name of the conversation, also in the store.
        store: keeps it beyond this object, and also what the window has dropped.
        start_at_user: the first message after the system message is one of the user.  What comes
            before the first one that fits goes too; and in a turn that is longer than the window,
            the question of the user stays, and the oldest rounds go.

    Raises:
        ConfigurationError: an argument is wrong.
    """

    __slots__ = ()

    def __init__(
        self,
        max_messages: int,
        *,
        id: ConversationId = DEFAULT_ID,
        store: ChatMemoryStore | None = None,
        start_at_user: bool = False,
    ) -> None:
        self._set_limit("max_messages", max_messages, start_at_user)
        self._connect(id, store)

    def _size(self, message: Message) -> int:
        return 1


class TokenWindow(_Window):
    """Sends the newest messages that fit in a number of tokens, and the system message.

    It drops what MessageWindow drops: whole units, never the last one.

    Args:
        max_tokens: how many, those of the system message included; the tools of a request and the
            answer need room beside them.
        count_tokens: how many tokens a message takes, 0 or more; called once per message.
        id: the name of the conversation, also in the store.
        store: keeps it beyond this object, and also what the window has dropped.
        start_at_user: see MessageWindow.

    Raises:
        ConfigurationError: an argument is wrong.
    """

    __slots__ = ("_count",)

    def __init__(
        self,
        max_tokens: int,
        *,
        count_tokens: Callable[[Message], int] = estimate_tokens,
        id: ConversationId = DEFAULT_ID,
        store: ChatMemoryStore | None = None,
        start_at_user: bool = False,
    ) -> None:
        self._set_limit("max_tokens", max_tokens, start_at_user)
        if not callable(count_tokens):
            raise ConfigurationError(
                f"count_tokens must be a function of a message, got {type(count_tokens).__name__}."
            )
        self._count = count_tokens
        self._connect(id, store)

    def copy_for(self, id: ConversationId, store: ChatMemoryStore | None) -> Self:
        made = super().copy_for(id, store)
        made._count = self._count
        return made

    def _size(self, message: Message) -> int:
        count = self._count(message)
        if count < 0:
            raise ConfigurationError(f"count_tokens must return 0 or more, got {count!r}.")
        return count
