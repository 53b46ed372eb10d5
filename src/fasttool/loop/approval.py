"""Runs that wait for a person: what they are while they wait, and what is decided of their calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fasttool import json_text
from fasttool.errors import ConfigurationError, MessageFormatError
from fasttool.message_format import message_from_dict, message_to_dict
from fasttool.messages import AiMessage, Message, TokenUsage, ToolCall

STATE_VERSION = 1
REJECTED = "This call was rejected; it was not executed."


@dataclass(slots=True, frozen=True)
class Approve:
    """The call may run.

    Args:
        arguments: JSON text or a mapping to run it with instead of the model's; None keeps those.
    """

    arguments: str | Mapping[str, Any] | None = None


@dataclass(slots=True, frozen=True)
class Reject:
    """The call must not run; the model is told ``reason``."""

    reason: str = REJECTED


Decision = Approve | Reject | bool
"""What is decided of one call; True and False stand for ``Approve()`` and ``Reject()``."""


@dataclass(slots=True)
class PausedRun:
    """A run that waits for decisions, with all that another process needs to go on.

    Args:
        messages: the conversation up to the model's calls, that message left out.
        message: the model's message with the calls of the round that waits; none of them has run.
        waiting: those of its calls that need a decision, in order.
        memory_id: the id of the conversation.
        rounds: rounds that were run before.
        calls: calls that were run before.
        usage: tokens that were taken so far; None where the model did not say.
        uses: calls so far of each tool whose uses are limited.
        failures: rounds so far in which a tool whose attempts are limited failed.
    """

    messages: list[Message]
    message: AiMessage
    waiting: tuple[ToolCall, ...]
    memory_id: Any
    rounds: int = 0
    calls: int = 0
    usage: TokenUsage | None = None
    uses: dict[str, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        usage = self.usage
        return {
            "version": STATE_VERSION,
            "messages": [message_to_dict(message) for message in self.messages],
            "message": message_to_dict(self.message),
            "waiting": [call.id for call in self.waiting],
            "memory_id": self.memory_id,
            "rounds": self.rounds,
            "calls": self.calls,
            "usage": None if usage is None else {name: getattr(usage, name) for name in usage.__slots__},
            "uses": self.uses,
            "failures": self.failures,
        }

    def to_json(self) -> bytes:
        """Return the JSON form as text.

        Raises:
            ConfigurationError: the memory id has no JSON form.
        """
        try:
            return json_text.encode(self.to_dict())
        except json_text.JsonTextError as error:
            raise ConfigurationError(f"The state of a paused run has no JSON form: {error}.") from None

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> PausedRun:
        """Return the paused run of a JSON form.

        Raises:
            MessageFormatError: it is none, or one of a newer version.
        """
        if not isinstance(form, Mapping) or form.get("version") != STATE_VERSION:
            found = form.get("version") if isinstance(form, Mapping) else type(form).__name__
            raise MessageFormatError(f"The state of a paused run has version {STATE_VERSION}, got {found!r}.")
        try:
            message = message_from_dict(form["message"])
            if not isinstance(message, AiMessage):
                raise MessageFormatError("The message of a paused run must be one of the model.")
            by_id = {call.id: call for call in message.tool_calls}
            usage = form["usage"]
            return cls(
                [message_from_dict(entry) for entry in form["messages"]],
                message,
                tuple(by_id[label] for label in form["waiting"]),
                form["memory_id"],
                int(form["rounds"]),
                int(form["calls"]),
                None if usage is None else TokenUsage(**usage),
                dict(form["uses"]),
                dict(form["failures"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, MessageFormatError):
                raise
            raise MessageFormatError(f"The state of a paused run cannot be read: {error!r}.") from None

    @classmethod
    def from_json(cls, text: str | bytes) -> PausedRun:
        """Return the paused run of a JSON text.

        Raises:
            MessageFormatError: it is none, or one of a newer version.
        """
        try:
            form = json_text.decode(text)
        except json_text.JsonTextError as error:
            raise MessageFormatError(f"The state of a paused run is not JSON: {error}.") from None
        return cls.from_dict(form)


def decided(paused: PausedRun, decisions: Mapping[str, Decision]) -> tuple[AiMessage, dict[int, str]]:
    """Return the message with the arguments that were decided on, and the texts for rejected calls by place.

    Args:
        paused: the run that waits.
        decisions: a decision for the id of each call that waits.

    Raises:
        ConfigurationError: a decision is missing, is for no call that waits, or is none.
    """
    waiting = {call.id for call in paused.waiting}
    missing, unknown = waiting - decisions.keys(), decisions.keys() - waiting
    if missing or unknown:
        raise ConfigurationError(
            f"A decision is needed for each of the calls {', '.join(sorted(waiting))} and for no other; "
            f"got {', '.join(sorted(map(str, decisions))) or 'none'}."
        )
    calls: list[ToolCall] = []
    rejected: dict[int, str] = {}
    for place, call in enumerate(paused.message.tool_calls):
        decision = decisions.get(call.id, True)
        if isinstance(decision, Approve):
            if decision.arguments is not None:
                call = ToolCall(call.id, call.name, decision.arguments)  # type: ignore[arg-type]
        elif isinstance(decision, Reject):
            rejected[place] = decision.reason or REJECTED
        elif decision is False:
            rejected[place] = REJECTED
        elif decision is not True:
            raise ConfigurationError(
                f"A decision is Approve(), Reject(), True or False, got {decision!r} for call {call.id}."
            )
        calls.append(call)
    message = paused.message
    return AiMessage(message.text, tuple(calls), message.contents, message.attributes), rejected
