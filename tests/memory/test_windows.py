"""Windows drop whole units, and keep as many as fit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttool.errors import ConfigurationError, MessageFormatError
from fasttool.memory import (
    INTERRUPTED,
    ChatMemory,
    ConversationId,
    InMemoryStore,
    MessageWindow,
    TokenWindow,
    UnboundedMemory,
    estimate_tokens,
    repaired,
)
from fasttool.messages import (
    AiMessage,
    ImageContent,
    Message,
    ProviderContent,
    SystemMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from tests.memory.conversations import calls, flaw, result, round_of, units_of

U, A, S = UserMessage("u"), AiMessage("a"), SystemMessage("s")


class CountingStore(InMemoryStore):
    """Counts what passes through it."""

    def __init__(self) -> None:
        super().__init__()
        self.loads = self.written = self.rewritten = 0

    def load(self, memory_id: ConversationId) -> list[Message]:
        self.loads += 1
        return super().load(memory_id)

    def append(self, memory_id: ConversationId, messages: Iterable[Message]) -> None:
        given = list(messages)
        self.written += len(given)
        super().append(memory_id, given)

    def replace(self, memory_id: ConversationId, messages: Iterable[Message]) -> None:
        given = list(messages)
        self.rewritten += len(given)
        super().replace(memory_id, given)


class BrokenStore(InMemoryStore):
    def append(self, memory_id: ConversationId, messages: Iterable[Message]) -> None:
        raise MessageFormatError("no")


# ------------------------------------------------------------------------------- what is kept
def test_an_assistant_message_goes_with_all_its_results() -> None:
    memory = MessageWindow(3)
    memory.add(U)
    memory.add(calls("1", "2"))
    memory.add(result("1"), result("2"))
    assert memory.messages() == round_of("1", "2")
    memory.add(A)
    assert memory.messages() == [A]
    memory.add(U)
    assert memory.messages() == [A, U]


def test_the_last_unit_stays_where_it_is_larger_than_the_window() -> None:
    memory = MessageWindow(2)
    memory.add(S, U, *round_of("1", "2", "3"))
    assert memory.messages() == [S, *round_of("1", "2", "3")]
    memory.add(A)
    assert memory.messages() == [S, A]


def test_results_may_come_one_by_one_and_in_any_order() -> None:
    memory = MessageWindow(10)
    memory.add(U, calls("1", "2"))
    memory.add(result("2"))
    assert memory.messages() == [U]
    memory.add(result("1"))
    assert memory.messages() == [U, *round_of("1", "2")]


def test_calls_that_run_are_not_shown_and_calls_that_were_left_are_answered() -> None:
    memory = UnboundedMemory()
    memory.add(U, calls("1"))
    assert memory.messages() == [U]
    memory.add(UserMessage("next"))
    assert flaw(memory.messages()) is None
    assert len(memory.messages()) == 4


def test_a_result_without_a_call_is_not_stored(caplog: pytest.LogCaptureFixture) -> None:
    store = InMemoryStore()
    memory = UnboundedMemory(store=store)
    with caplog.at_level(logging.WARNING, "fasttool.memory"):
        memory.add(U, result("1"))
    assert store.load("default") == memory.messages() == [U]
    assert len(caplog.records) == 1


UNITS = st.lists(
    st.one_of(
        st.just([U]),
        st.just([A]),
        st.lists(st.sampled_from(["", "x", "y"]), min_size=1, max_size=4).map(lambda ids: round_of(*ids)),
    ),
    max_size=14,
)


def expected(units: list[list[Message]], room: int, size: Callable[[Message], int]) -> list[list[Message]]:
    """As many of the newest units as fit, at least one."""
    kept: list[list[Message]] = []
    for unit in reversed(units):
        if kept and sum(size(message) for other in [unit, *kept] for message in other) > room:
            break
        kept.insert(0, unit)
    return kept


def expected_from_user(
    units: list[list[Message]], room: int, size: Callable[[Message], int]
) -> list[list[Message]]:
    """The same, from a message of the user on; the question of a long turn stays."""
    kept = expected(units, room, size)
    for place, unit in enumerate(kept):
        if unit[0] is U:
            return kept[place:]
    if not any(unit[0] is U for unit in units):
        return kept
    return [[U], *expected(kept, room - size(U), size)]


def flat(units: list[list[Message]]) -> list[Message]:
    return [message for unit in units for message in unit]


def weight(message: Message) -> int:
    return {"system": 2, "user": 1, "assistant": 3, "tool": 2}[message.role]


@given(
    units=UNITS,
    limit=st.integers(1, 30),
    system=st.booleans(),
    by_tokens=st.booleans(),
    at_user=st.booleans(),
    together=st.booleans(),
)
def test_any_window_keeps_whole_units_and_as_many_as_fit(
    units: list[list[Message]], limit: int, system: bool, by_tokens: bool, at_user: bool, together: bool
) -> None:
    store = InMemoryStore()
    size: Callable[[Message], int] = weight if by_tokens else lambda message: 1

    def window() -> ChatMemory:
        if by_tokens:
            return TokenWindow(limit, count_tokens=weight, store=store, start_at_user=at_user)
        return MessageWindow(limit, store=store, start_at_user=at_user)

    memory = window()
    head: list[Message] = [S] if system else []
    memory.add(*head)
    room = limit - sum(size(message) for message in head)
    rule = expected_from_user if at_user else expected
    for number, unit in enumerate(units, 1):
        if together:
            memory.add(*unit)
        else:
            for message in unit:
                memory.add(message)
                assert flaw(memory.messages()) is None
        kept = memory.messages()
        assert flaw(kept) is None
        assert kept == head + flat(rule(units[:number], room, size))
        assert len(units_of(kept)) == 1 or sum(map(size, kept)) <= limit or at_user
    assert store.load("default") == head + flat(units)
    assert window().messages() == memory.messages()


def test_a_window_that_starts_at_the_user_keeps_the_question_of_a_long_turn() -> None:
    memory = MessageWindow(4, start_at_user=True)
    question = UserMessage("question")
    memory.add(A, question)
    for number in range(5):
        memory.add(*round_of(str(number)))
    assert memory.messages() == [question, *round_of("4")]
    memory.add(A)
    assert memory.messages() == [question, *round_of("4"), A]
    memory.add(U)
    assert memory.messages() == [U]


def test_the_question_stays_where_the_running_round_alone_is_too_large() -> None:
    memory = MessageWindow(2, start_at_user=True)
    memory.add(U, *round_of("1"))
    assert memory.messages() == [U, *round_of("1")]


# ------------------------------------------------------------------------------- the system message
@pytest.mark.parametrize("store", [None, InMemoryStore()])
def test_the_system_message_has_one_place(store: InMemoryStore | None) -> None:
    memory = MessageWindow(3, store=store)
    memory.add(SystemMessage("a"), U)
    memory.add(SystemMessage("a"), A)
    memory.add(SystemMessage("b"))
    assert memory.messages() == [SystemMessage("b"), U, A]
    memory.add(U)
    assert memory.messages() == [SystemMessage("b"), A, U]
    if store is not None:
        assert [message.text for message in store.load("default") if message.role == "system"] == ["a", "b"]
        assert MessageWindow(3, store=store).messages() == memory.messages()


def test_of_several_new_system_messages_the_last_one_counts_also_after_loading() -> None:
    store = InMemoryStore()
    memory = UnboundedMemory(store=store)
    memory.add(SystemMessage("b"))
    memory.add(SystemMessage("a"), SystemMessage("b"))
    assert memory.messages() == UnboundedMemory(store=store).messages() == [SystemMessage("b")]


# ------------------------------------------------------------------------------- replacing
def rolled_back(message: Message) -> Message:
    if isinstance(message, ToolResultMessage):
        return ToolResultMessage(message.id, message.tool_name, "rolled back", is_error=True)
    return message


@pytest.mark.parametrize("at_user", [False, True])
@pytest.mark.parametrize("running", [False, True])
def test_replacing_keeps_what_the_window_dropped_in_the_store(at_user: bool, running: bool) -> None:
    store = InMemoryStore()
    memory = MessageWindow(7, store=store, start_at_user=at_user)
    old = [UserMessage("old"), *round_of("a"), A]
    turn = [U, *round_of("b"), *round_of("b"), *round_of("b")]
    memory.add(S, *old, *turn)
    if running:
        memory.add(calls("b"))
    before = memory.messages()
    shown = sum(message.role == "tool" for message in before)
    assert len(before) <= 7
    assert shown >= 2
    memory.replace([rolled_back(message) for message in before])
    assert memory.messages() == [rolled_back(message) for message in before]
    if running:
        memory.add(result("b"))
        assert memory.messages()[-2:] == round_of("b")
    stored = store.load("default")
    assert stored[: len(old) + 1] == [S, *old]
    assert len(stored) == len([S, *old, *turn]) + 2 * running
    texts = [message.text for message in stored[1 + len(old) :] if isinstance(message, ToolResultMessage)]
    assert texts == ["ok"] * (3 - shown) + ["rolled back"] * shown + ["ok"] * running
    assert MessageWindow(7, store=store, start_at_user=at_user).messages() == memory.messages()


def test_replacing_takes_a_running_message_with_what_it_has_so_far() -> None:
    memory = UnboundedMemory()
    memory.add(U, calls("a", "b"))
    memory.add(result("a"))
    memory.replace([UserMessage("v"), calls("a", "b")])
    assert memory.messages() == [UserMessage("v")]
    memory.add(result("b"))
    assert memory.messages() == [UserMessage("v"), *round_of("a", "b")]
    memory.replace([UserMessage("w"), *round_of("a", "b")])
    assert memory.messages() == [UserMessage("w"), *round_of("a", "b")]


def test_replacing_can_finish_what_is_running() -> None:
    memory = UnboundedMemory()
    memory.add(U, calls("a"))
    memory.replace([U, *round_of("a")])
    assert memory.messages() == [U, *round_of("a")]


def test_replacing_finds_what_is_running_by_position_where_rounds_look_alike() -> None:
    memory = UnboundedMemory()
    memory.add(U, *round_of("a"), calls("a"))
    memory.replace([U, calls("a"), result("a", "rolled back")])
    assert memory.messages() == [U, calls("a"), result("a", "rolled back")]
    memory.add(result("a"))
    assert memory.messages() == [U, calls("a"), result("a", "rolled back"), *round_of("a")]


def test_replacing_with_fewer_messages_keeps_what_came_before_the_window() -> None:
    store = InMemoryStore()
    memory = MessageWindow(2, store=store)
    memory.add(UserMessage("1"), UserMessage("2"), UserMessage("3"))
    memory.replace([UserMessage("summary")])
    assert [message.text for message in store.load("default")] == ["1", "summary"]
    assert [message.text for message in memory.messages()] == ["1", "summary"]
    memory.replace([])
    assert memory.messages() == store.load("default") == []


def test_clearing_forgets_everything() -> None:
    store = InMemoryStore()
    memory = MessageWindow(5, store=store)
    memory.add(S, U, calls("a"))
    memory.clear()
    assert memory.messages() == store.load("default") == store.ids() == []
    memory.add(A)
    assert memory.messages() == store.load("default") == [A]


# ------------------------------------------------------------------------------- loading
def test_a_loaded_conversation_is_repaired_and_the_store_is_left_as_it_is() -> None:
    store = InMemoryStore()
    history = [result("x"), U, calls("a", "b"), result("b")]
    store.append("m", history)
    memory = UnboundedMemory(id="m", store=store)
    assert flaw(memory.messages()) is None
    assert [message.role for message in memory.messages()] == ["user", "assistant", "tool", "tool"]
    assert store.load("m") == history
    memory.add(U)
    assert UnboundedMemory(id="m", store=store).messages() == memory.messages()


def test_a_result_that_comes_after_loading_still_finds_its_call() -> None:
    store = InMemoryStore()
    store.append("m", [U, calls("a")])
    memory = MessageWindow(5, id="m", store=store)
    assert memory.messages()[-1].is_error  # type: ignore[union-attr]
    memory.add(result("a"))
    assert memory.messages() == MessageWindow(5, id="m", store=store).messages() == [U, *round_of("a")]


def test_an_add_that_the_store_refuses_changes_nothing() -> None:
    memory = MessageWindow(5, store=BrokenStore())
    for batch in ([U], [S], [calls("a"), result("a")]):
        with pytest.raises(MessageFormatError):
            memory.add(*batch)
        assert memory.messages() == []


def test_a_result_that_the_store_refuses_can_be_given_again() -> None:
    store = InMemoryStore()
    memory = MessageWindow(5, store=store)
    memory.add(calls("a"))
    memory._store = BrokenStore()  # type: ignore[attr-defined]
    with pytest.raises(MessageFormatError):
        memory.add(result("a"))
    memory._store = store  # type: ignore[attr-defined]
    memory.add(result("a"))
    assert memory.messages() == round_of("a")


STEPS = st.lists(
    st.one_of(
        st.sampled_from([(U,), (A,), (calls("a", ""),), (result("a"),), (result(""),), (result("x"),)]),
        st.lists(st.sampled_from([U, A, calls("a"), result("a")]), max_size=4).map(tuple),
        st.sampled_from(["roll back", "summarise", "load", "clear"]),
    ),
    max_size=16,
)


@given(steps=STEPS, limit=st.one_of(st.none(), st.integers(1, 8)), at_user=st.booleans())
def test_whatever_happens_the_memory_shows_what_its_store_would_show(
    steps: list[Any], limit: int | None, at_user: bool
) -> None:
    store = InMemoryStore()

    def made() -> ChatMemory:
        if limit is None:
            return UnboundedMemory(store=store)
        return MessageWindow(limit, store=store, start_at_user=at_user)

    memory = made()
    for step in steps:
        before = memory.messages()
        whole = repaired(store.load("default"))
        if step == "roll back":
            memory.replace([rolled_back(message) for message in before])
            assert len(memory.messages()) == len(before)
            assert len(repaired(store.load("default"))) == len(whole)
        elif step == "summarise":
            memory.replace([UserMessage("summary")])
        elif step == "load":
            memory = made()
        elif step == "clear":
            memory.clear()
        else:
            memory.add(*step)
        shown = memory.messages()
        assert flaw(shown) is None
        if not memory._waits:  # type: ignore[attr-defined]  # what runs is interrupted for those who load
            assert shown == made().messages()


def test_two_memories_of_one_conversation_leave_a_history_that_is_whole_when_it_is_loaded() -> None:
    store = InMemoryStore()
    one, other = UnboundedMemory(store=store), UnboundedMemory(store=store)
    assert one.messages() == other.messages() == []
    one.add(U, calls("a"))
    other.add(UserMessage("other"), calls("b"))
    one.add(result("a"))
    other.add(result("b"))
    assert one.messages() == [U, *round_of("a")]
    loaded = UnboundedMemory(store=store).messages()
    assert flaw(loaded) is None
    assert [message.text for message in loaded if isinstance(message, ToolResultMessage)] == [
        INTERRUPTED,
        "ok",
    ]


# ------------------------------------------------------------------------------- cheapness
def test_what_is_old_is_not_written_counted_or_read_again() -> None:
    store = CountingStore()
    counted: list[Message] = []

    def count(message: Message) -> int:
        counted.append(message)
        return 1

    memory = TokenWindow(20, count_tokens=count, store=store)
    total = 0
    for number in range(50):
        for batch in ([UserMessage(str(number))], [calls("a", "b")], [result("a"), result("b")]):
            memory.add(*batch)
            memory.messages()
            total += len(batch)
    assert (store.loads, store.written, store.rewritten, len(counted)) == (1, total, 0, total)


def test_a_long_conversation_is_not_counted_from_its_beginning() -> None:
    store = InMemoryStore()
    store.append("m", [UserMessage(str(number)) for number in range(1000)])
    counted: list[Message] = []

    def count(message: Message) -> int:
        counted.append(message)
        return 1

    memory = TokenWindow(10, count_tokens=count, id="m", store=store)
    assert len(memory.messages()) == 10
    assert len(counted) == 11


def test_messages_are_kept_as_they_are() -> None:
    memory = UnboundedMemory(store=InMemoryStore())
    given = [U, *round_of("a")]
    memory.add(*given)
    assert all(kept is message for kept, message in zip(memory.messages(), given, strict=True))
    memory.messages().clear()
    assert len(memory.messages()) == 3


# ------------------------------------------------------------------------------- tokens
@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (SystemMessage(""), 4),
        (UserMessage("four" * 10), 14),
        (UserMessage("上海"), 6),
        (UserMessage("\ud800"), 5),
        (UserMessage("four", name="four"), 6),
        (UserMessage([ImageContent(url="http://x")]), 1004),
        (AiMessage(None, (ToolCall("four", "four", "four"), ToolCall("", "", ""))), 15),
        (AiMessage("four", contents=(ProviderContent("p", {"a": 1}),)), 7),
        (AiMessage(contents=(ProviderContent("p", object()),)), 4),
        (ToolResultMessage("four", "four", "four"), 7),
        (ToolResultMessage("", "", "not sent" * 9, contents=(ImageContent(url="http://x"),)), 1004),
    ],
)
def test_the_estimate_of_tokens(message: Message, tokens: int) -> None:
    assert estimate_tokens(message) == tokens


def test_a_token_window_estimates_unless_told_otherwise() -> None:
    memory = TokenWindow(12)
    memory.add(UserMessage("a" * 8), UserMessage("b" * 8), UserMessage("c" * 8))
    assert [message.text[0] for message in memory.messages()] == ["b", "c"]  # type: ignore[index]


# ------------------------------------------------------------------------------- settings
@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: MessageWindow(0), "max_messages must be a whole number of 1 or more, got 0"),
        (lambda: MessageWindow(True), "got True"),
        (lambda: TokenWindow(1.5), "max_tokens must be a whole number"),
        (lambda: TokenWindow(5, count_tokens="x"), "count_tokens must be a function"),
        (lambda: MessageWindow(5, id=None), "A memory id is text or a whole number"),
        (lambda: MessageWindow(5, id=""), "A memory id is text"),
        (lambda: MessageWindow(5, id=True), "A memory id is text"),
        (lambda: MessageWindow(5, id=2**63), "whole number of 64 bits"),
        (lambda: MessageWindow(5, id="\ud800"), "valid Unicode"),
        (lambda: MessageWindow(5, store={}), "store must have the methods of a ChatMemoryStore, got dict"),
        (
            lambda: TokenWindow(5, count_tokens=lambda message: -1).add(U),
            "count_tokens must return 0 or more",
        ),
    ],
)
def test_a_wrong_setting_is_told(make: Callable[[], Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        make()


def test_what_is_no_message_is_refused_and_nothing_is_added() -> None:
    memory = UnboundedMemory()
    with pytest.raises(ConfigurationError, match="holds messages, got list"):
        memory.add(U, [A])  # type: ignore[arg-type]
    assert memory.messages() == []


def test_memories_meet_the_interface() -> None:
    for memory in (MessageWindow(1), TokenWindow(1), UnboundedMemory(id=7)):
        assert isinstance(memory, ChatMemory)
    assert repr(UnboundedMemory(id=7)) == "<UnboundedMemory 7>"
