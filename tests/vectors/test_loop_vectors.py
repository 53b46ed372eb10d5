"""The loop scenarios and the error scenarios, in each of the three ways of running.

Where fasttool decided otherwise, the scenario is in DEVIATIONS with the reason, and with what is so here.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Protocol

import pytest

from fasttool import CompensateWhen, Result, RetrievedContent, ai_service
from fasttool.errors import (
    ConfigurationError,
    FastToolError,
    ToolArgumentsError,
    ToolRoundsExceededError,
    UnknownToolError,
)
from fasttool.loop import events as run_events
from fasttool.loop.streaming import TokenStream
from fasttool.messages import AiMessage, FinishReason, UserMessage
from fasttool.tools import ToolResult
from tests.loop.test_machine import assert_well_formed, results_of
from tests.vectors.loop_fixture import (
    FixtureProvider,
    FixtureTools,
    memory_of,
    message_form,
    model_of,
    request_form,
    result_form,
)
from tests.vectors_finder import vector_file

ROUNDS = "N rounds with calls are allowed, in every mode; the answer after them does not count"
ANSWERED = "each call gets a result, so that the conversation can go on"
TREE = "the round that returns decides, by the tree of the reference's words"
IDS = "ids are made unique on entry, and each call is a call of its own"
UNITS = "a window drops whole rounds, and never the one that runs"
CALLER_TOOLS = "a caller gives tools to the service, not in the parameters of a request"
FIRST_ONLY = "a tool choice holds for the first request: repeated, it would never end"
ONE_WAY = "a call runs once its answer is complete; nothing waits for a signal"
OWN_TEXT = "the text is the library's own"
UNKNOWN = "an unknown name is an error, whatever text tells the model of it"

ABORTS = "what a run has done is undone also where the run ends with an error"
ROLLED_BACK = "Tool 'book' was executed successfully but was rolled back due to failure of tool 'fail'"

DONE: dict[str, Any] = {"kind": "result", "content": "done"}
NOT_RUN_LIMIT = "This call was not executed: the limit of rounds with tool calls is reached."
NOT_REACHED = "This call was not executed: the run ended at an earlier call."
ENDED_HERE = "The run ended with an error at this call."
NO_B = 'Wrong arguments for tool add: "b" is required and is missing; it must be an integer.'
NO_A_B = (
    'Wrong arguments for tool add: "a" is required and is missing; it must be an integer; '
    '"b" is required and is missing; it must be an integer.'
)
ROUND = ["request_issued", "response_received", "before:echo", "after:echo", "tool_executed:echo"]

# id -> (reason, what is so here: keys of `expect`; `...` for one that is not compared; `results`: the texts
# of all results in the memory, and whether they are errors)
DEVIATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "L16": (
        ROUNDS,
        {
            "outcomes": [DONE],
            "events": ["started", *ROUND, *ROUND, "request_issued", "response_received", "completed"],
            "memory": ...,
            "results": [("e:a", False), ("e:b", False)],
        },
    ),
    "L27": (FIRST_ONLY, {"requests": ...}),
    "L28": (CALLER_TOOLS, {"requests": ...}),
    "L30": (
        IDS,
        {
            "outcomes": [DONE],
            "requests": ...,
            "events": ...,
            "memory": ...,
            "results": [("first failed", True), ("ok", False)],
        },
    ),
    "L32": (
        UNITS,
        {
            "outcomes": [DONE],
            "requests": ...,
            "events": ...,
            "memory": ...,
            "results": [],
        },
    ),
    "L33": (UNITS, {"requests": ..., "memory": ..., "results": []}),
    "L43": (ANSWERED, {"memory": ..., "results": [(ENDED_HERE, True)]}),
    "L44": (ANSWERED, {"events": ..., "memory": ..., "results": [("e:a", False)]}),
    "I05": (OWN_TEXT, {"requests": ..., "memory": ...}),
    "I07": (
        TREE,
        {"outcomes": [{"kind": "value", "value": ["a"]}], "requests": ..., "events": ..., "memory": ...},
    ),
    "I12": (
        TREE,
        {"outcomes": [{"kind": "raises", "error_kind": "configuration error", "message": ""}], "events": ...},
    ),
    "I15": (TREE, {"outcomes": [{"kind": "value", "value": "i:b"}]}),
    "I18": (TREE, {"outcomes": [{"kind": "value", "value": "i:b"}], "events": ...}),
    "I19": ("the text of an executor is its value", {"outcomes": [{"kind": "value", "value": "hello"}]}),
    "T06": (ANSWERED, {"memory": ..., "results": [("e:a", False), (NOT_RUN_LIMIT, True)]}),
    "T08": (ANSWERED, {"memory": ..., "results": [("e:a", False), (NO_A_B, True)]}),
    "T10": (
        ONE_WAY,
        {
            "requests": ...,
            "events": ["started", *ROUND, "request_issued", "response_received", "completed"],
            "tool_log": ["echo:a"],
            "memory": ...,
            "results": [("e:a", False)],
        },
    ),
    "T11": (ANSWERED, {"memory": ..., "results": ...}),
    "T14": (
        "compensation is the same in every mode",
        {
            "requests": ...,
            "tool_log": ["book:1", "fail:2", "undo book:1"],
            "memory": ...,
            "results": [(ROLLED_BACK, True), ("boom 2", True)],
        },
    ),
    "C10": (
        "the model is told what was not rolled back",
        {
            "requests": ...,
            "memory": ...,
            "results": [
                (ROLLED_BACK, True),
                (
                    "Tool 'brittle' was executed successfully and was NOT rolled back after failure of tool "
                    "'fail': its compensation failed",
                    True,
                ),
                (ROLLED_BACK.replace("book", "pay"), True),
                ("boom 4", True),
            ],
        },
    ),
    "C15": (
        ABORTS,
        {
            "events": ...,
            "tool_log": ["book:1", "undo book:1"],
            "memory": ...,
            "results": [(ROLLED_BACK.replace("fail'", "add'"), True), (NO_A_B, True)],
        },
    ),
    "C16": (
        ABORTS,
        {
            "events": ...,
            "tool_log": ["book:1", "fail:2", "undo book:1"],
            "memory": ...,
            "results": [(ROLLED_BACK, True), (ENDED_HERE, True)],
        },
    ),
    "C18": (
        UNKNOWN,
        {
            "outcomes": [{"kind": "result", "content": "end"}],
            "requests": ...,
            "events": ...,
            "tool_log": ["book:1", "undo book:1"],
            "memory": ...,
            "results": [(ROLLED_BACK.replace("fail'", "nope'"), True), ("none", True)],
        },
    ),
    "C19": (
        ROUNDS,
        {
            "outcomes": [{"kind": "result", "content": "end"}],
            "events": ...,
            "memory": ...,
            "results": [("B-1", False)],
        },
    ),
    "C20": (
        ABORTS,
        {
            "tool_log": ["book:1", "undo book:1"],
            "memory": ...,
            "results": [(ROLLED_BACK.replace("tool 'fail'", "the run"), True)],
        },
    ),
    "C25": (
        "a compensation gets the very values that the tool got",
        {"tool_log": ["mutate:[q, m]", "fail:2", "undo mutate:[q, m]"]},
    ),
    "C26": (
        IDS,
        {
            "outcomes": [{"kind": "result", "content": "end"}],
            "requests": ...,
            "events": ...,
            "memory": ...,
            "results": [(ROLLED_BACK, True), ("boom 2", True)],
        },
    ),
    "C27": (IDS, {"outcomes": [{"kind": "result", "content": "end"}], "requests": ..., "memory": ...}),
    "T15": (CALLER_TOOLS, {"requests": ...}),
    "E02": (OWN_TEXT, {"outcomes": [{"kind": "result", "content": "sorry"}], "requests": ...}),
    "E06": (ANSWERED, {"requests": ..., "memory": ..., "results": [(NO_B, True)]}),
    "E07": (
        OWN_TEXT,
        {
            "outcomes": [{"kind": "result", "content": "3"}],
            "requests": ...,
            "memory": ...,
            "results": [
                ('A:"b" is required and is missing; it must be an integer|ToolArgumentsError', True),
                ("3", False),
            ],
        },
    ),
    "E10": (ANSWERED, {"memory": ..., "results": ...}),
    "E11": (
        UNKNOWN,
        {
            "outcomes": [{"kind": "result", "content": "x"}],
            "requests": ...,
            "events": ...,
            "memory": ...,
            "results": [("no tool called nope", True)],
        },
    ),
    "E12": (
        UNKNOWN,
        {
            "outcomes": [{"kind": "result", "content": "x"}],
            "requests": ...,
            "events": ...,
            "memory": ...,
            "results": [("no tool called nope", True), ("l:q", False)],
        },
    ),
    "E15": (
        ANSWERED + "; what has not begun when a call aborts does not begin",
        {"events": ..., "tool_log": ..., "memory": ..., "results": ...},
    ),
}


def rows() -> list[Any]:
    loop = json.loads(vector_file("core/loop_scenarios.json").read_text(encoding="utf-8"))
    errors = json.loads(vector_file("core/errors.json").read_text(encoding="utf-8"))
    undone = json.loads(vector_file("core/compensation.json").read_text(encoding="utf-8"))
    return [*loop, *errors["scenarios"], *undone["scenarios"]]


class Blocking(Protocol):
    def run(self, text: str) -> Result[str]: ...
    def text(self, text: str) -> str: ...
    def number(self, text: str) -> int: ...
    def words(self, text: str) -> list[str]: ...
    def nothing(self, text: str) -> None: ...
    def message(self, text: str) -> AiMessage: ...


class NonBlocking(Protocol):
    async def run(self, text: str) -> Result[str]: ...
    async def text(self, text: str) -> str: ...
    async def number(self, text: str) -> int: ...
    async def words(self, text: str) -> list[str]: ...
    async def nothing(self, text: str) -> None: ...
    async def message(self, text: str) -> AiMessage: ...


class Streaming(Protocol):
    def run(self, text: str) -> TokenStream: ...


METHODS = {
    "Result<str>": "run",
    "stream": "run",
    "str": "text",
    "int": "number",
    "list[str]": "words",
    "None": "nothing",
    "AiMessage": "message",
}


class Scenario:
    """One scenario, run in one way."""

    def __init__(self, row: dict[str, Any], mode: str) -> None:
        self.config = row["config"]
        self.mode = mode
        self.tools = FixtureTools()
        self.model = model_of(row["script"])
        self.memory = memory_of(self.config)
        self.events: list[str] = []
        self.provider_seen: list[str] = []
        self.providers = [
            FixtureProvider(config, number, self.tools, self.provider_seen)
            for number, config in enumerate(self.config.get("providers", ()))
        ]
        interface = {"sync": Blocking, "async": NonBlocking, "stream": Streaming}[mode]
        service: Any = ai_service(
            interface,
            chat_model=self.model,
            tools=[] if self.config.get("no_tools") else [self.tools],
            tool_providers=self.providers,
            **self._options(),
        )
        self.outcomes = [self._turn(service, text) for text in row["user_turns"]]

    def _options(self) -> dict[str, Any]:
        config = self.config
        options: dict[str, Any] = {
            "memory": self.memory,
            "listeners": self._heard,
            "before_tool": self._before,
            "after_tool": self._after,
            "concurrent": bool(config.get("concurrent")),
        }
        if config.get("compensate"):
            options["compensate"] = CompensateWhen.TOOL_ERROR
        if "max_round_trips" in config:
            limit = config["max_round_trips"]
            options["max_rounds"] = 10**6 if limit < 0 else limit
        if "tool_choice" in config:
            options["tool_choice"] = config["tool_choice"].lower()
        for key, option in (
            ("arguments_handler", "arguments_error"),
            ("execution_handler", "execution_error"),
            ("hallucination_strategy", "unknown_tool"),
        ):
            if key in config:
                options[option] = self._handler(config[key])
        if "rag_suffix" in config:
            options["retriever"] = lambda message, context: UserMessage(message.text + config["rag_suffix"])
            if not config["store_retrieved"]:
                options["retrieved_content"] = RetrievedContent.EVERY_CALL
        return options

    def _handler(self, template: str) -> Any:
        def handle(call: Any, error: FastToolError, context: Any) -> Any:
            if template.startswith("raise:"):
                raise NotImplementedError(template.removeprefix("raise:"))
            problems = getattr(error, "problems", None)
            said = str(problems[0]) if problems else str(error)
            values = {
                "message": said,
                "tool": call.name,
                "raw": type(error).__name__,
                "memory_id": context.memory_id,
            }
            return ToolResult(template.format(**values))

        return handle

    def _heard(self, event: Any) -> None:
        if isinstance(event, run_events.ToolExecuted):
            self.events.append(f"tool_executed:{event.execution.call.name}")
        elif type(event) in EVENTS:
            self.events.append(EVENTS[type(event)])
        if self.config.get("listener_raises"):
            raise RuntimeError("listener")

    def _before(self, call: Any, context: Any) -> None:
        if "before_raises" in self.config:
            raise RuntimeError(self.config["before_raises"])
        self.events.append(f"before:{call.name}")

    def _after(self, execution: Any, context: Any) -> None:
        if "after_raises" in self.config:
            raise RuntimeError(self.config["after_raises"])
        self.events.append(f"after:{execution.call.name}{'!' if execution.result.is_error else ''}")

    def _turn(self, service: Any, text: str) -> dict[str, Any]:
        kind = self.config.get("service", "Result<str>")
        method = getattr(service, METHODS[kind])
        try:
            if self.mode == "sync":
                found = method(text)
            elif self.mode == "async":
                found = asyncio.run(method(text))
            else:
                found = asyncio.run(_to_end(method(text)))
        except Exception as error:
            return {"kind": "raises", "error": error}
        if kind in ("Result<str>", "stream"):
            return self._result(found)
        return {"kind": "value", "value": message_form(found) if isinstance(found, AiMessage) else found}

    def _result(self, result: Result[str]) -> dict[str, Any]:
        usage = result.usage
        tokens = None
        if usage is not None:
            tokens = {"input": usage.input_tokens, "output": usage.output_tokens, "total": usage.total_tokens}
        return {
            "kind": "result",
            "content": result.content,
            "finish_reason": "TOOL_EXECUTION" if result.finish_reason is FinishReason.TOOL_CALLS else "STOP",
            "usage": tokens,
            "executions": [
                {
                    "id": execution.call.id,
                    "name": execution.call.name,
                    **result_form(execution.result),
                    "failed": execution.result.is_error,
                }
                for execution in result.executions
            ],
            "intermediate_responses": len(result.responses) - 1,
            "final_message": message_form(result.responses[-1].message),
        }


async def _to_end(stream: TokenStream) -> Result[str]:
    async for _ in stream:
        pass
    assert stream.result is not None
    return stream.result


EVENTS = {
    run_events.RunStarted: "started",
    run_events.RequestIssued: "request_issued",
    run_events.ResponseReceived: "response_received",
    run_events.RunCompleted: "completed",
    run_events.RunFailed: "error",
}


def kind_of(error: Exception) -> str:
    for kind, name in (
        (ToolArgumentsError, "argument error (cause unwrapped)"),
        (UnknownToolError, "unknown tool"),
        (ToolRoundsExceededError, "rounds exceeded"),
        (ConfigurationError, "configuration error"),
    ):
        if isinstance(error, kind):
            return name
    return str(error)


def expected_error(outcome: dict[str, Any]) -> str:
    if "round trips" in outcome["message"]:
        return "rounds exceeded"
    if "no such tool exists" in outcome["message"]:
        return "unknown tool"
    if outcome["error_kind"] in ("argument error (cause unwrapped)", "configuration error"):
        return str(outcome["error_kind"])
    return str(outcome["message"])


def assert_outcome(found: dict[str, Any], expected: dict[str, Any]) -> None:
    if expected["kind"] in ("raises", "stream_error"):
        assert found["kind"] == "raises", found
        assert kind_of(found["error"]) == expected_error(expected)
        return
    if found["kind"] == "raises":
        raise found["error"]
    for key, value in expected.items():
        if key == "kind":
            continue
        if key == "executions":
            value = [
                {name: part for name, part in execution.items() if name != "has_result_object"}
                for execution in value
            ]
        assert found[key] == value, key


def assert_events(found: list[str], expected: list[str], *, unordered: bool) -> None:
    """The hooks of the calls in their order, and the events of the run in theirs."""
    known = [
        event
        for event in expected
        if not event.startswith(("stream_", "partial", "intermediate", "complete", "on_error"))
        or event == "completed"
    ]
    hooks = [event for event in known if event.startswith(("before:", "after:"))]
    others = [event for event in known if event not in hooks]
    found_hooks = [event for event in found if event.startswith(("before:", "after:"))]
    found_others = [event for event in found if event not in found_hooks]
    if unordered:
        hooks, found_hooks = sorted(hooks), sorted(found_hooks)
        others, found_others = sorted(others), sorted(found_others)
    assert found_hooks == hooks
    assert found_others == others


CASES = [
    pytest.param(row, mode, id=f"{row['id']}-{mode}")
    for row in rows()
    for mode in ("sync", "async", "stream")
    if mode != "stream" or row["config"].get("service", "Result<str>") in ("Result<str>", "stream")
]


@pytest.mark.parametrize(("row", "mode"), CASES)
def test_scenario(row: dict[str, Any], mode: str) -> None:
    _, ours = DEVIATIONS.get(row["id"], ("", {}))
    scenario = Scenario(row, mode)
    expect = {**row["expect"], **{key: value for key, value in ours.items() if value is not ...}}
    left_out = {key for key, value in ours.items() if value is ...}
    for found, expected in zip(scenario.outcomes, expect["outcomes"], strict=True):
        assert_outcome(found, expected)
    if "requests" not in left_out:
        assert len(scenario.model.requests) == len(expect["requests"])
        found_requests = [
            request_form(request, like)
            for request, like in zip(scenario.model.requests, expect["requests"], strict=True)
        ]
        assert found_requests == expect["requests"]
    if "events" not in left_out:
        unordered = bool(expect.get("events_unordered_within_round"))
        assert_events(scenario.events, expect["events"], unordered=unordered)
    log, expected_log = scenario.tools.log, expect["tool_log"]
    if "tool_log" not in left_out and expect.get("tool_log_unordered"):
        log, expected_log = sorted(log), sorted(expected_log)
    if "tool_log" not in left_out:
        assert log == expected_log
    if scenario.memory is not None:
        kept = scenario.memory.messages()
        assert_well_formed(kept)
        if "memory" in expect and "memory" not in left_out:
            assert [message_form(message) for message in kept] == expect["memory"]
        if ours.get("results", ...) is not ...:
            assert [(message.text, message.is_error) for message in results_of(kept)] == ours["results"]
    if "provider_calls" in expect:
        assert [provider.calls for provider in scenario.providers] == expect["provider_calls"]
        if "provider_seen" not in left_out:
            assert scenario.provider_seen == expect["provider_seen"]


def test_every_deviation_is_a_scenario() -> None:
    assert DEVIATIONS.keys() <= {row["id"] for row in rows()}
