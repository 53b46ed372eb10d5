"""Many conversations: one memory each, and none that nobody uses."""

from __future__ import annotations

import threading
import tracemalloc
import weakref
from typing import Any

import pytest

from fasttool.errors import ConfigurationError
from fasttool.memory import (
    ChatMemories,
    ChatMemory,
    ChatMemoryStore,
    ConversationId,
    InMemoryStore,
    MessageWindow,
    TokenWindow,
    UnboundedMemory,
)
from fasttool.messages import Message, UserMessage
from tests.memory.conversations import round_of

U = UserMessage("u")


def test_a_conversation_has_one_memory_while_it_is_in_use() -> None:
    memories = ChatMemories(MessageWindow(2))
    memory = memories.get("a")
    assert memories.get("a") is memory
    assert memories.get("b") is not memory
    memory.add(U, U, U)
    gone = weakref.ref(memory)
    del memory
    assert gone() is None
    assert memories.get("a").messages() == [U, U]
    assert memories.store.load("a") == [U, U, U]


def test_text_and_numbers_are_different_conversations() -> None:
    memories = ChatMemories()
    memories.get(1).add(U)
    assert memories.get("1").messages() == []
    assert memories.store.ids() == [1]


def test_threads_get_the_same_memory() -> None:
    made: list[ChatMemory] = []
    barrier = threading.Barrier(8)

    def make(memory_id: ConversationId, store: ChatMemoryStore) -> ChatMemory:
        memory = UnboundedMemory(id=memory_id, store=store)
        made.append(memory)
        return memory

    memories = ChatMemories(make)

    def work() -> None:
        for number in range(50):
            barrier.wait(20)
            memories.get(number).add(U)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(made) == 50
    assert all(len(memory.messages()) == 8 for memory in made)


@pytest.mark.parametrize(
    ("window", "kept"),
    [
        (None, 5),
        (UnboundedMemory(), 5),
        (MessageWindow(4), 4),
        (MessageWindow(4, start_at_user=True), 4),
        (TokenWindow(3, count_tokens=lambda message: 1), 3),
        (lambda memory_id, store: MessageWindow(2, id=memory_id, store=store), 2),
    ],
)
def test_each_conversation_takes_the_settings_of_the_window(window: Any, kept: int) -> None:
    memories = ChatMemories(window)
    memories.get("a").add(U, U, U, U, U)
    assert memories.get("a").id == "a"
    assert len(memories.get("a").messages()) == kept


def test_start_at_user_is_a_setting_too() -> None:
    memory = ChatMemories(MessageWindow(2, start_at_user=True)).get("a")
    memory.add(U, *round_of("1", "2"))
    assert memory.messages() == [U, *round_of("1", "2")]


def test_a_wrong_setting_is_told() -> None:
    wrong: Any = 20
    with pytest.raises(ConfigurationError, match=r"window must be a memory such as MessageWindow\(20\)"):
        ChatMemories(wrong)
    with pytest.raises(ConfigurationError, match="store must have the methods"):
        ChatMemories(store=wrong)
    with pytest.raises(ConfigurationError, match="A memory id is text"):
        ChatMemories().get(None)  # type: ignore[arg-type]


def messages_of(number: int) -> list[Message]:
    return [UserMessage(f"u{number}"), *round_of(f"c{number}"), UserMessage(f"v{number}")]


@pytest.mark.parametrize("in_use", [False, True])
def test_an_idle_conversation_costs_little_beyond_its_messages(in_use: bool) -> None:
    memories = ChatMemories(MessageWindow(20))
    conversations = [messages_of(number) for number in range(200)]
    memories.get("first").add(*messages_of(0))
    held: list[ChatMemory] = []
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number, messages in enumerate(conversations):
            memory = memories.get(f"conversation {number}")
            with memory.turn():
                memory.add(*messages)
                memory.messages()
            if in_use:
                held.append(memory)
            del memory
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    each = (after - before) / len(conversations)
    assert each < (2500 if in_use else 700)
    assert len(memories._in_use) == len(held)


def test_dropped_conversations_leave_nothing_in_the_registry() -> None:
    memories = ChatMemories(store=InMemoryStore())
    for number in range(100):
        memories.get(number).clear()
    assert len(memories._in_use) == 0
    assert memories.store.ids() == []
