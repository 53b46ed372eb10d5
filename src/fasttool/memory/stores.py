"""A store that lives as long as the process."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from fasttool.memory.protocol import ConversationId
from fasttool.messages import Message


class InMemoryStore:
    """Keeps conversations in this process; whole ones, until ``delete``.

    Messages are values, so they are kept as they are: nothing is copied or encoded.
    """

    blocking = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._conversations: dict[ConversationId, list[Message]] = {}

    def load(self, memory_id: ConversationId) -> list[Message]:
        """Return all messages of a conversation, oldest first."""
        with self._lock:
            return list(self._conversations.get(memory_id, ()))

    def append(self, memory_id: ConversationId, messages: Iterable[Message]) -> None:
        """Put messages at the end of a conversation."""
        given = list(messages)
        if given:
            with self._lock:
                self._conversations.setdefault(memory_id, []).extend(given)

    def replace(self, memory_id: ConversationId, messages: Iterable[Message]) -> None:
        """Put messages in the place of the whole conversation."""
        given = list(messages)
        with self._lock:
            if given:
                self._conversations[memory_id] = given
            else:
                self._conversations.pop(memory_id, None)

    def delete(self, memory_id: ConversationId) -> None:
        """Forget a conversation."""
        with self._lock:
            self._conversations.pop(memory_id, None)

    def ids(self) -> list[ConversationId]:
        """Return the conversations that have messages, the oldest first."""
        with self._lock:
            return list(self._conversations)
