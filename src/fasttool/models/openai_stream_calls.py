"""Calls of tools put together from the pieces of a stream of OpenAI Chat Completions; no I/O.

OpenAI gives each call an index, its id and name in the first piece, and its arguments in the further
ones.  Others speak the same form otherwise: with no index, or 0 for all; with the id in each piece, in
none, or another one each time; with the name in each piece or in halves; with arguments as an object, or
said once more at the end.  A call is a place in the answer; indexes and ids are hints of which one is meant.
"""

from __future__ import annotations

from typing import Any

from fasttool.messages import ToolCall
from fasttool.models.http.failures import json_of
from fasttool.models.openai_response import REPLAYED_OF_CALL
from fasttool.models.stream import ModelEvent, ToolCallComplete, ToolCallDelta, is_whole
from fasttool.schema.tool_names import ToolNames

_CALL_SIZE = 1000


class PartialCall:
    """A call, as far as it has come.

    Args:
        index: its place in the answer.
        chunk: the number of the chunk that began it.
    """

    __slots__ = (
        "_last",
        "_pieces",
        "_whole",
        "_whole_at",
        "chunk",
        "extras",
        "id",
        "index",
        "is_told",
        "name",
        "size",
    )

    def __init__(self, index: int, chunk: int) -> None:
        self.index = index
        self.chunk = chunk
        self.id = ""
        self.name = ""
        self.size = 0
        """Characters of its arguments."""
        self.is_told = False
        """It was said to be complete; its arguments stay as they are."""
        self.extras: dict[str, Any] = {}
        self._pieces: list[str] = []
        self._last = ""
        self._whole = False
        self._whole_at = 0  # the size at which that was found out

    def append(self, piece: str) -> None:
        """Add a piece of its arguments."""
        self._pieces.append(piece)
        self._last = piece
        self.size += len(piece)

    def arguments(self) -> str:
        """Return its arguments so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def is_whole(self) -> bool:
        """Return whether its arguments are a whole object; read at most once per piece that may end one."""
        if self._whole_at != self.size:
            self._whole_at = self.size
            last = self._last.rstrip()
            self._whole = (not last or last.endswith("}")) and is_whole(self.arguments())
        return self._whole

    def is_repeated_by(self, piece: str) -> bool:
        """Return whether a piece says all of its arguments once more."""
        return 0 < self.size == len(piece) and self.is_whole() and self.arguments() == piece

    def settle(self) -> None:
        """Take back what was said twice: arguments that came in full after, or before, the pieces of them."""
        if self.size == 0 or self.is_whole():
            return
        last = self._last
        text = self.arguments()
        before = text[: len(text) - len(last)]
        if last.startswith(before) and is_whole(last):
            self._pieces = [last]
        elif text.startswith("{}") and is_whole(text[2:]):  # some begin each call with an empty object
            self._pieces = [text[2:]]
        self.size = len(self.arguments())


class CallAssembler:
    """Puts calls together.

    Args:
        names: gives the tools' own names for those on the wire; None leaves them as they come.
    """

    def __init__(self, names: ToolNames | None = None) -> None:
        self.calls: list[PartialCall] = []
        self.size = 0
        """Characters that are kept, each call with what it takes beside them."""
        self._names = names
        self._at: dict[int, PartialCall] = {}  # by the index on the wire: the latest call there
        self._labelled: dict[str, PartialCall] = {}  # by id: the latest call with it
        self._told = 0
        self._chunk = 0

    def add(self, entries: list[Any]) -> list[ModelEvent]:
        """Take the entries of a chunk, and return what they tell."""
        self._chunk += 1
        events: list[ModelEvent] = []
        for entry in entries:
            if isinstance(entry, dict):
                self._add(entry, events)
        return events

    def tell(self, events: list[ModelEvent], *, before: int) -> None:
        """Say of calls that they are complete, in order, up to the first that is not a whole object.

        Args:
            events: where that is said.
            before: the calls before this place.
        """
        while self._told < before and (call := self.calls[self._told]).is_whole() and call.name:
            self._tell(call, events)

    def end(self, events: list[ModelEvent], *, is_cut: bool) -> None:
        """Say of all calls that they are complete, now that no more comes.

        Args:
            events: where that is said.
            is_cut: the model was stopped, so a last call that is not whole is not complete.
        """
        last = len(self.calls) - 1
        for call in self.calls[self._told :]:
            call.settle()
            if call.name and not (is_cut and call.index == last and not call.is_whole()):
                self._tell(call, events)

    def entries(self) -> list[dict[str, Any]]:
        """Return the calls as a response has them that came in one piece."""
        return [
            {"id": call.id, "function": {"name": call.name, "arguments": call.arguments()}, **call.extras}
            for call in self.calls
        ]

    def _tell(self, call: PartialCall, events: list[ModelEvent]) -> None:
        call.is_told = True
        self._told = call.index + 1
        whole = ToolCall(call.id, self._own_name(call), call.arguments())
        events.append(ToolCallComplete(call.index, whole))

    def _own_name(self, call: PartialCall) -> str:
        return call.name if self._names is None else self._names.original(call.name)

    def _add(self, entry: dict[str, Any], events: list[ModelEvent]) -> None:
        function = entry.get("function")
        if not isinstance(function, dict):
            function = {}
        given = function.get("name")
        name = given if isinstance(given, str) else ""
        label = entry.get("id")
        label = "" if label is None else str(label)
        piece = function.get("arguments")
        if piece is None:
            piece = ""
        elif not isinstance(piece, str):
            piece = json_of(piece)
        call = self._place(_index(entry.get("index")), label, name, piece, events)
        if call is None:
            return
        for key in REPLAYED_OF_CALL:
            if entry.get(key):
                call.extras[key] = entry[key]
        if call.is_told:
            return  # it has begun to run by now; a whole object takes no more
        news = False
        if label and not call.id:
            call.id = label
            self._labelled[label] = call
            news = True
        if name and call.size == 0 and name != call.name:
            # In halves, or a little more of it each time.
            call.name = name if name.startswith(call.name) else call.name + name
            news = True
        if piece and not call.is_repeated_by(piece):
            call.append(piece)
            self.size += len(piece)
            news = True
        elif not news:
            return
        else:
            piece = ""
        events.append(ToolCallDelta(call.index, call.id, self._own_name(call), piece))

    def _place(
        self, index: int | None, label: str, name: str, piece: str, events: list[ModelEvent]
    ) -> PartialCall | None:
        """Return the call that an entry belongs to, None for an entry that says nothing."""
        last = self.calls[-1] if self.calls else None
        at = None if index is None else self._at.get(index)
        labelled = self._labelled.get(label) if label else None
        if at is not None:
            call = None if self._is_another(at, label, name, piece, has_place=True) else at
            if labelled is not None and not name:
                call = labelled  # several calls in turns, all with one index
        elif index is not None:
            call = labelled
            if labelled is not None and name and (labelled.size == 0 or labelled.is_whole()):
                call = None  # ids that are not unique: of the two, the new index is believed
            elif labelled is None and not name and not (label and _may_begin(piece)):
                call = last  # an index that goes on counting
        else:
            candidate = labelled or last
            same = candidate is not None and not self._is_another(
                candidate, label, name, piece, has_place=False
            )
            call = candidate if same else None
        if call is None:
            if not (label or name or piece):
                return None
            call = PartialCall(len(self.calls), self._chunk)
            self.calls.append(call)
            self.size += _CALL_SIZE + len(name)
            self.tell(events, before=call.index)
            if label:
                self._labelled[label] = call
                call.id = label
        if index is not None:
            self._at[index] = call
        return call

    def _is_another(self, call: PartialCall, label: str, name: str, piece: str, *, has_place: bool) -> bool:
        """Return whether an entry begins another call, where a call is already.

        Args:
            call: the call that is there.
            label: the id of the entry.
            name: the name of the entry.
            piece: its piece of the arguments.
            has_place: its index says that it belongs there.
        """
        if not name:
            return False  # also with a new id: some servers make one up for each piece
        if not _may_begin(piece):
            return False
        if label and call.id and label != call.id:
            return True
        if label and label == call.id:
            return (
                not has_place
                and bool(piece)
                and call.is_whole()
                and (self._chunk == call.chunk or call.arguments() != piece)
            )
        if call.size == 0:
            return not has_place and (name != call.name or call.chunk == self._chunk)
        if not call.is_whole():
            return not has_place and name != call.name
        if piece and (name != call.name or call.arguments() != piece):
            return True
        if piece:
            return not has_place and call.chunk == self._chunk
        return name != call.name


def _may_begin(piece: str) -> bool:
    """Return whether a piece may be the first one of arguments."""
    return not piece or piece.lstrip().startswith("{")


def _index(value: Any) -> int | None:
    """Return an index, None for what is none; some write it as text."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return int(value)
    return value if type(value) is int and value >= 0 else None
