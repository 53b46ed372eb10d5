"""Histories become units, and broken ones become whole."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttool.errors import ConfigurationError
from fasttool.memory import INTERRUPTED, repaired
from fasttool.messages import AiMessage, Message, SystemMessage, ToolCall, ToolResultMessage, UserMessage
from tests.memory.conversations import calls, flaw, result, round_of


def test_a_call_without_a_result_is_answered_as_interrupted() -> None:
    history = repaired([UserMessage("Pay!"), calls("a", "b"), result("b", "done")])
    assert history[2:] == [
        ToolResultMessage("a", "tool", INTERRUPTED, is_error=True),
        result("b", "done"),
    ]


def test_an_unanswered_call_in_the_middle_is_answered_directly_after_it() -> None:
    history = repaired([calls("a"), UserMessage("Well?"), calls("b"), AiMessage("done")])
    assert [getattr(message, "id", None) for message in history] == [None, "a", None, None, "b", None]
    assert flaw(history) is None


def test_an_orphan_result_is_dropped_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "fasttool.memory"):
        history = repaired(
            [result("x"), UserMessage("hi"), result("a"), *round_of("a"), UserMessage("so"), result("a")]
        )
    assert history == [UserMessage("hi"), *round_of("a"), UserMessage("so")]
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 3
    assert "'x'" in caplog.records[0].getMessage()


def test_of_two_results_of_one_call_the_first_stays(caplog: pytest.LogCaptureFixture) -> None:
    assert repaired([calls("a"), result("a", "one"), result("a", "two")]) == [calls("a"), result("a", "one")]
    assert "the second one of its call" in caplog.text


def test_a_late_result_takes_the_place_of_an_interrupted_one() -> None:
    late = ToolResultMessage("a", "tool", INTERRUPTED, is_error=True)
    assert repaired([calls("a"), late, result("a", "real")]) == [calls("a"), result("a", "real")]


def test_results_come_in_call_order() -> None:
    history = repaired([calls("a", "b", "c"), result("c"), result("a"), result("b")])
    assert history == [calls("a", "b", "c"), result("a"), result("b"), result("c")]


@pytest.mark.parametrize("id", ["", "k"])
def test_ids_that_repeat_within_a_round_are_answered_in_order(id: str) -> None:
    history = [calls(id, id, id), result(id, "1"), result(id, "2"), result(id, "3")]
    assert repaired(history) == history
    assert [message.text for message in repaired(history[:3])[1:]] == ["1", "2", INTERRUPTED]


def test_ids_that_repeat_over_rounds_belong_to_their_own_round() -> None:
    history = [*round_of("a"), *round_of("a"), calls("a"), UserMessage("x"), *round_of("a")]
    done = repaired(history)
    assert flaw(done) is None
    assert [message.text for message in done if message.role == "tool"] == ["ok", "ok", INTERRUPTED, "ok"]


def test_the_last_system_message_is_first() -> None:
    history = [UserMessage("hi"), SystemMessage("a"), AiMessage("ho"), SystemMessage("b")]
    assert repaired(history) == [SystemMessage("b"), UserMessage("hi"), AiMessage("ho")]


def test_only_messages_are_taken() -> None:
    with pytest.raises(ConfigurationError, match="holds messages, got str"):
        repaired(["hi"])  # type: ignore[list-item]


IDS = st.sampled_from(["", "a", "b"])
ANY_MESSAGE: st.SearchStrategy[Message] = st.one_of(
    st.builds(SystemMessage, st.sampled_from("st")),
    st.builds(UserMessage, st.sampled_from("uv")),
    st.builds(AiMessage, st.just("text")),
    st.builds(
        lambda ids: AiMessage(tool_calls=[ToolCall(id, "tool") for id in ids]), st.lists(IDS, max_size=4)
    ),
    st.builds(result, IDS, st.sampled_from(["r", "s"])),
)


@given(st.lists(ANY_MESSAGE, max_size=20))
def test_whatever_comes_is_whole_after_repair(history: list[Message]) -> None:
    done = repaired(history)
    assert flaw(done) is None
    assert repaired(done) == done
    others = [message for message in history if message.role in ("user", "assistant")]
    assert [message for message in done if message.role in ("user", "assistant")] == others


@given(st.lists(ANY_MESSAGE, max_size=20).map(repaired))
def test_what_is_whole_is_not_touched(history: list[Message]) -> None:
    assert repaired(history) == history
