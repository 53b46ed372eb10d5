"""Units: what moves through a memory as a whole, and how a broken history becomes units.

An assistant message with calls and the results of these calls are one unit; any other message is
a unit of its own.  The system message stands before all units.

Ids are labels from outside.  A result belongs to the unit that it follows; there it answers the
first call with its id that has no result yet.  So ids may repeat, within a unit and over units.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence

from fasttool.errors import ConfigurationError
from fasttool.messages import AiMessage, Message, SystemMessage, ToolCall, ToolResultMessage, UserMessage

INTERRUPTED = "This call was interrupted; whether it took effect is not known."

_LOG = logging.getLogger("fasttool.memory")

Slot = ToolResultMessage | None


class Unit:
    """A message and, where it has calls, one place per call for the result.

    Attributes:
        message: the message itself.
        results: one per call, in call order; None where the result has not come yet.
        number: how many units of the conversation came before.
        size: what a window counted for it; -1 before it counted.
    """

    __slots__ = ("message", "number", "results", "size")

    def __init__(self, message: Message, number: int) -> None:
        self.message = message
        self.results: Sequence[Slot] = ()
        self.number = number
        self.size = -1
        if isinstance(message, AiMessage) and message.tool_calls:
            self.results = [None] * len(message.tool_calls)

    @property
    def is_waiting(self) -> bool:
        """Whether a result has not come yet."""
        return _is_open(self.results)

    @property
    def is_user(self) -> bool:
        """Whether this is a message of the user."""
        return isinstance(self.message, UserMessage)

    def messages(self) -> Iterator[Message]:
        """Yield the message and the results that are there."""
        yield self.message
        for result in self.results:
            if result is not None:
                yield result


def interrupted(call: ToolCall) -> ToolResultMessage:
    """Return the result of a call whose own result never came."""
    return ToolResultMessage(call.id, call.name, INTERRUPTED, is_error=True)


def settled(unit: Unit, results: Sequence[Slot]) -> Sequence[Slot]:
    """Return results with ``interrupted`` ones in the places that are empty."""
    if not _is_open(results):
        return results
    return [result or interrupted(call) for call, result in zip(_calls(unit), results, strict=True)]


def _is_open(results: Sequence[Slot]) -> bool:
    # "None in results" would compare each result with None, field by field.
    return any(result is None for result in results)


class Arrangement:
    """Messages in the form in which a memory takes them.

    Attributes:
        system: the last system message among them, None if there is none.
        units: the units that they begin.
        results: of the unit that was the last one before them; None where it stays as it is.
        kept: the messages themselves, without system messages and those that have no place.
    """

    __slots__ = ("kept", "results", "system", "units")

    def __init__(self) -> None:
        self.system: SystemMessage | None = None
        self.units: list[Unit] = []
        self.results: Sequence[Slot] | None = None
        self.kept: list[Message] = []


def arrange(messages: Iterable[Message], last: Unit | None = None, number: int = 0) -> Arrangement:
    """Sort messages into units; nothing that exists is changed.

    A result without its call, and a second result of one call, are left out with a warning in the
    log.  Calls that another message follows before their results have come are answered as
    interrupted; the last unit stays as it is.

    Args:
        messages: oldest first.
        last: the unit that came before them.
        number: how many units came before them.

    Raises:
        ConfigurationError: something is not a message.
    """
    done = Arrangement()
    unit = last
    slots: Sequence[Slot] = last.results if last is not None else ()
    first = 0  # no place before it is empty
    for message in messages:
        if isinstance(message, ToolResultMessage):
            while first < len(slots) and slots[first] is not None:
                first += 1
            place = _place_of(message, unit, slots, first)
            if place is None:
                continue
            if unit is last and done.results is None:
                slots = done.results = list(slots)  # a copy: the store may still refuse the messages
            assert isinstance(slots, list)
            slots[place] = message
        elif isinstance(message, SystemMessage):
            done.system = message
            continue
        elif isinstance(message, (UserMessage, AiMessage)):
            if unit is not None and _is_open(slots):
                slots = settled(unit, slots)
                if unit is last:
                    done.results = slots
                else:
                    unit.results = slots
            unit = Unit(message, number + len(done.units))
            slots = unit.results
            first = 0
            done.units.append(unit)
        else:
            raise ConfigurationError(f"A memory holds messages, got {type(message).__name__}.")
        done.kept.append(message)
    return done


def _place_of(result: ToolResultMessage, unit: Unit | None, slots: Sequence[Slot], first: int) -> int | None:
    """Return the place that a result takes; None, and a warning, where there is no place for it."""
    known = False
    if unit is not None:
        if first < len(slots) and _calls(unit)[first].id == result.id:
            return first  # results in call order, however many
        for place, call in enumerate(_calls(unit)):
            if call.id == result.id:
                known = True
                slot = slots[place]
                # A result that comes late says more than that nothing is known.
                if slot is None or (slot.is_error and slot.text == INTERRUPTED):
                    return place
    reason = "it is the second one of its call" if known else "it does not follow its call"
    _LOG.warning("The result of call %r (%s) was dropped: %s.", result.id, result.tool_name, reason)
    return None


def _calls(unit: Unit) -> Sequence[ToolCall]:
    return unit.message.tool_calls if isinstance(unit.message, AiMessage) else ()


def repaired(messages: Iterable[Message]) -> list[Message]:
    """Return a history that a provider takes: each call has its one result, and follows it directly.

    >>> from fasttool.messages import AiMessage, ToolCall, UserMessage
    >>> calls = AiMessage(tool_calls=[ToolCall("1", "pay")])
    >>> [message.role for message in repaired([UserMessage("Pay!"), calls, UserMessage("Well?")])]
    ['user', 'assistant', 'tool', 'user']
    """
    done = arrange(messages)
    whole: list[Message] = [] if done.system is None else [done.system]
    for unit in done.units:
        unit.results = settled(unit, unit.results)
        whole.extend(unit.messages())
    return whole
