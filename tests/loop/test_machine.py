"""The rules of the loop, driven by hand: no model, no thread, no clock."""

from __future__ import annotations

from typing import Any

import pytest

from fasttool.errors import ModelResponseError, ModelServerError, ToolExecutionError, ToolRoundsExceededError
from fasttool.loop.effects import STARTED, Aborted, CallModel, RunTools
from fasttool.loop.machine import run_loop
from fasttool.loop.options import LoopOptions
from fasttool.loop.rounds import CUT_OFF, INTERRUPTED, NO_MORE_ROUNDS, NOT_REACHED
from fasttool.messages import (
    AiMessage,
    ChatResponse,
    FinishReason,
    TokenUsage,
    ToolCall,
    ToolChoice,
    ToolResultMessage,
    UserMessage,
)
from fasttool.specification import ReturnBehavior
from fasttool.tools import ToolExecutionResult, ToolService, tool


def echo(x: str) -> str:
    """Echo."""
    return f"e:{x}"


@tool("Immediate", return_behavior=ReturnBehavior.IMMEDIATE)
def give(x: str) -> str:
    return x


SERVICE = ToolService([echo, give])


def start(messages: Any = None, **options: Any) -> Any:
    return run_loop(messages or [UserMessage("hi")], SERVICE, LoopOptions(**options))


def calls(*names: str, ids: list[str] | None = None, **response: Any) -> ChatResponse:
    labels = ids or [f"c{number}" for number in range(len(names))]
    return ChatResponse(
        AiMessage(
            tool_calls=[
                ToolCall(label, name, '{"x": "1"}') for label, name in zip(labels, names, strict=True)
            ]
        ),
        **response,
    )


def run_all(effect: RunTools) -> None:
    for place, invocation in enumerate(effect.invocations):
        if effect.outcomes[place] is None:
            effect.outcomes[place] = invocation.executor.execute(invocation.call, None)


def end(machine: Any, outcome: Any) -> Any:
    with pytest.raises(StopIteration) as stop:
        machine.send(outcome)
    return stop.value.value


def results_of(messages: list[Any]) -> list[ToolResultMessage]:
    return [message for message in messages if isinstance(message, ToolResultMessage)]


def assert_well_formed(messages: list[Any]) -> None:
    """Each call has exactly one result, right after its message, in call order."""
    expected: list[str] = []
    for message in messages:
        if isinstance(message, ToolResultMessage):
            assert expected, "a result without a call"
            assert message.id == expected.pop(0)
            continue
        assert not expected, f"calls without a result: {expected}"
        if isinstance(message, AiMessage):
            expected = [call.id for call in message.tool_calls]
            assert len(set(expected)) == len(expected)
    assert not expected, f"calls without a result: {expected}"


def test_order_of_messages_and_requests():
    given = [UserMessage("hi")]
    machine = start(given)
    request = next(machine).request
    assert list(request.messages) == given
    assert [specification.name for specification in request.tools] == ["echo", "give"]
    effect = machine.send(calls("echo", "echo"))
    run_all(effect)
    second = machine.send(None)
    assert isinstance(second, CallModel)
    assert [message.role for message in second.request.messages] == ["user", "assistant", "tool", "tool"]
    assert [message.role for message in request.messages] == ["user"], "a request is not changed afterwards"
    result = end(machine, ChatResponse(AiMessage("done"), finish_reason=FinishReason.STOP))
    assert result.content == "done"
    assert result.finish_reason is FinishReason.STOP
    assert [execution.result.value for execution in result.executions] == ["e:1", "e:1"]
    assert given == [UserMessage("hi")], "the caller's list is not changed"
    assert_well_formed(result.messages)


def test_usage_is_summed_over_missing_fields():
    machine = start()
    next(machine)
    run_all(machine.send(calls("echo", usage=TokenUsage(10, 1))))
    machine.send(None)
    result = end(machine, ChatResponse(AiMessage("x"), usage=TokenUsage(5, None, 7)))
    assert result.usage == TokenUsage(15, 1, 7)


def test_usage_stays_unknown():
    machine = start()
    next(machine)
    assert end(machine, ChatResponse(AiMessage("x"))).usage is None


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_round_limit_counts_rounds_with_calls(rounds: int):
    machine = start(max_rounds=rounds)
    next(machine)
    for _ in range(rounds):
        run_all(machine.send(calls("echo")))
        machine.send(None)
    with pytest.raises(ToolRoundsExceededError, match=f"after {rounds} rounds") as raised:
        machine.send(calls("echo", "echo"))
    partial = raised.value.result
    assert_well_formed(partial.messages)
    assert [message.text for message in results_of(partial.messages)[-2:]] == [NO_MORE_ROUNDS] * 2
    assert len(partial.executions) == rounds


def test_an_answer_after_the_last_round_is_fine():
    machine = start(max_rounds=1)
    next(machine)
    run_all(machine.send(calls("echo")))
    machine.send(None)
    assert end(machine, ChatResponse(AiMessage("ok"))).content == "ok"


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["", "", "k", "k"], ["call_0", "call_1", "k", "call_3"]),
        (["call_1", "", "", ""], ["call_1", "call_2", "call_3", "call_4"]),
        (["a", "b", "c", "d"], ["a", "b", "c", "d"]),
    ],
)
def test_ids_become_unique_and_good_ones_stay(ids: list[str], expected: list[str]):
    machine = start()
    next(machine)
    effect = machine.send(calls("echo", "echo", "echo", "echo", ids=ids))
    found = [invocation.call.id for invocation in effect.invocations]
    assert len(set(found)) == 4
    assert [label for label, given in zip(found, ids, strict=True) if given and ids.count(given) == 1] == [
        label for label in ids if label and ids.count(label) == 1
    ]
    assert found[: len(expected)][0] == expected[0]
    run_all(effect)
    assert_well_formed(list(machine.send(None).request.messages))


def test_ids_of_earlier_turns_are_not_used_again():
    history = [
        UserMessage("a"),
        AiMessage(tool_calls=[ToolCall("k", "echo", "{}")]),
        ToolResultMessage("k", "echo", "r"),
        UserMessage("b"),
    ]
    machine = start(history)
    next(machine)
    effect = machine.send(calls("echo", ids=["k"]))
    assert effect.invocations[0].call.id not in ("k", "")


def test_a_message_with_good_ids_is_kept_as_it_came():
    machine = start()
    next(machine)
    response = calls("echo")
    run_all(machine.send(response))
    assert machine.send(None).request.messages[1] is response.message


@pytest.mark.parametrize("reason", [FinishReason.STOP, FinishReason.OTHER, None])
def test_calls_count_not_the_finish_reason(reason: FinishReason | None):
    machine = start()
    next(machine)
    assert isinstance(machine.send(calls("echo", finish_reason=reason)), RunTools)


def test_an_answer_that_was_cut_off_does_not_run_its_last_call():
    machine = start()
    next(machine)
    effect = machine.send(calls("echo", "echo", finish_reason=FinishReason.LENGTH))
    assert [outcome is None for outcome in effect.outcomes] == [True, False]
    run_all(effect)
    messages = list(machine.send(None).request.messages)
    assert_well_formed(messages)
    assert [(message.text, message.is_error) for message in results_of(messages)] == [
        ("e:1", False),
        (CUT_OFF, True),
    ]


def test_a_single_call_that_was_cut_off_goes_back_to_the_model():
    machine = start()
    next(machine)
    effect = machine.send(calls("echo", finish_reason=FinishReason.LENGTH))
    assert isinstance(effect, CallModel)
    assert_well_formed(list(effect.request.messages))


def test_a_withheld_answer_runs_nothing_and_is_not_kept():
    machine = start()
    next(machine)
    with pytest.raises(ModelResponseError, match="content filter") as raised:
        machine.send(calls("echo", finish_reason=FinishReason.CONTENT_FILTER))
    assert [message.role for message in raised.value.result.messages] == ["user"]


def test_an_aborted_call_leaves_results_for_all():
    machine = start()
    next(machine)
    effect = machine.send(calls("echo", "echo", "echo"))
    effect.outcomes[0] = ToolExecutionResult("one")
    effect.outcomes[1] = Aborted(ToolExecutionError("echo", "stop here"))
    with pytest.raises(ToolExecutionError) as raised:
        machine.send(None)
    messages = raised.value.result.messages
    assert_well_formed(messages)
    assert [(message.text, message.is_error) for message in results_of(messages)] == [
        ("one", False),
        ("stop here", True),
        (NOT_REACHED, True),
    ]


def test_an_interruption_leaves_results_for_all():
    memory: list[Any] = []
    machine = start(has_memory=True)
    effect = next(machine)
    while not isinstance(effect, CallModel):  # the message of the user goes into the memory first
        memory += getattr(effect, "messages", [])
        effect = machine.send(list(memory))
    memory += machine.send(calls("echo", "echo", "echo")).messages
    effect = machine.send(None)
    effect.outcomes[0] = ToolExecutionResult("one")
    effect.outcomes[1] = STARTED
    memory += machine.throw(KeyboardInterrupt()).messages
    with pytest.raises(KeyboardInterrupt):
        machine.send(None)
    assert_well_formed(memory)
    assert [message.text for message in results_of(memory)] == ["one", INTERRUPTED, NOT_REACHED]


def test_a_model_failure_carries_the_partial_result():
    machine = start()
    next(machine)
    run_all(machine.send(calls("echo")))
    machine.send(None)
    with pytest.raises(ModelServerError) as raised:
        machine.throw(ModelServerError("down"))
    assert_well_formed(raised.value.result.messages)
    assert len(raised.value.result.executions) == 1


@pytest.mark.parametrize(
    ("choice", "later"),
    [
        (ToolChoice.REQUIRED, None),
        ("echo", None),
        (ToolChoice.AUTO, None),
        (ToolChoice.NONE, ToolChoice.NONE),
    ],
)
def test_tool_choice_holds_for_the_first_request(choice: Any, later: Any):
    machine = start(tool_choice=choice)
    assert next(machine).request.tool_choice == choice
    run_all(machine.send(calls("echo")))
    assert machine.send(None).request.tool_choice == later


def test_parameters_go_with_every_request():
    machine = start(parameters={"temperature": 0})
    assert next(machine).request.parameters == {"temperature": 0}
    run_all(machine.send(calls("echo")))
    assert machine.send(None).request.parameters == {"temperature": 0}


def test_a_result_for_the_caller_ends_the_run():
    machine = start()
    next(machine)
    run_all(machine.send(calls("give")))
    result = end(machine, None)
    assert result.content is None
    assert result.executions[-1].result.value == "1"
    assert_well_formed(result.messages)


def test_a_failed_call_keeps_the_run_going():
    machine = start()
    next(machine)
    effect = machine.send(calls("give"))
    effect.outcomes[0] = ToolExecutionResult("no", is_error=True)
    assert isinstance(machine.send(None), CallModel)


def test_a_run_may_override_where_its_result_goes():
    machine = start()
    next(machine)
    effect = machine.send(calls("echo"))
    effect.outcomes[0] = ToolExecutionResult("v", value="v", return_behavior=ReturnBehavior.IMMEDIATE)
    assert end(machine, None).content is None


@pytest.mark.parametrize("rounds", [-1, 1.5, True, "3"])
def test_a_wrong_limit_is_refused(rounds: Any):
    with pytest.raises(ValueError, match="max_rounds must be a whole number"):
        LoopOptions(max_rounds=rounds)
