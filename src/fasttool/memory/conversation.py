"""What all memories share: units in order, a store beside them, and what leaves the window."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, Self

from fasttool.errors import ConfigurationError
from fasttool.memory.blocking import in_worker
from fasttool.memory.protocol import ChatMemoryStore, ConversationId
from fasttool.memory.turns import AsyncTurn, Turn, TurnLock
from fasttool.memory.units import Slot, Unit, arrange, settled
from fasttool.messages import Message, SystemMessage

DEFAULT_ID = "default"


class Conversation:
    """A memory; its subclasses say what a message takes of the window, and how large that is."""

    __slots__ = (
        "__weakref__",
        "_id",
        "_limit",
        "_lock",
        "_number",
        "_starts_at_user",
        "_store",
        "_system",
        "_system_size",
        "_total",
        "_turns",
        "_units",
        "_waits",
    )

    _limit: int | None
    _starts_at_user: bool

    def _connect(self, id: ConversationId, store: ChatMemoryStore | None) -> None:
        self._id = checked_id(id)
        if store is not None and not isinstance(store, ChatMemoryStore):
            raise ConfigurationError(
                f"store must have the methods of a ChatMemoryStore, got {type(store).__name__}."
            )
        self._store = store
        self._lock = threading.Lock()
        self._turns = TurnLock()
        self._system: SystemMessage | None = None
        self._system_size = 0
        self._units: list[Unit] | None = [] if store is None else None  # None: not read yet
        self._total = 0  # sum of the sizes of the units
        self._number = 0  # of the next unit
        self._waits = False  # the calls of the last unit are running

    def copy_for(self, id: ConversationId, store: ChatMemoryStore | None) -> Self:
        """Return a memory with the settings of this one for another conversation."""
        made = type(self).__new__(type(self))
        made._limit, made._starts_at_user = self._limit, self._starts_at_user
        made._connect(id, store)
        return made

    @property
    def id(self) -> ConversationId:
        """The name of the conversation."""
        return self._id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._id!r}>"

    # ------------------------------------------------------------------------------ reading
    def messages(self) -> list[Message]:
        """Return what is sent to the model, as a new list.

        Each call has its one result, directly after it.  An assistant message whose calls are
        running is not shown before all results are there.

        Raises:
            MessageFormatError: the stored conversation cannot be read.
        """
        with self._lock:
            units = self._read()
            found: list[Message] = [] if self._system is None else [self._system]
            for unit in units[:-1] if self._waits else units:
                found.append(unit.message)
                if unit.results:
                    found.extend(unit.results)  # type: ignore[arg-type]  # only the last unit can wait
            return found

    def _read(self) -> list[Unit]:
        """Return the units that are kept; read them from the store the first time."""
        if self._units is None:
            assert self._store is not None
            done = arrange(self._store.load(self._id))
            # Whoever ran the last calls is gone, and so are their results.
            return self._begin(done.system, done.units, waits=False)
        return self._units

    def _begin(self, system: SystemMessage | None, units: list[Unit], *, waits: bool) -> list[Unit]:
        """Start from a whole conversation.

        Args:
            system: its system message.
            units: all of them, numbered from 0; those that are kept are measured.
            waits: whether the calls of the last unit are still running.
        """
        if units and not waits:
            units[-1].results = settled(units[-1], units[-1].results)
        size = 0 if system is None else self._size(system)
        kept, total = self._newest(units, size)
        self._system, self._system_size = system, size
        self._number = len(units)
        self._waits = waits
        self._units, self._total = kept, total
        return kept

    # ------------------------------------------------------------------------------ writing
    def add(self, *messages: Message) -> None:
        """Take new messages, oldest first.

        A system message takes the first place, instead of the one before.  A result goes to its
        call in the last assistant message; one that has no place there is dropped with a warning
        in the log.  Where an error is raised, nothing was added.

        Args:
            messages: those of one step together: the results of a round are stored all or none.

        Raises:
            ConfigurationError: something is not a message.
            MessageFormatError: a message has no JSON form.
        """
        with self._lock:
            units = self._read()
            last = units[-1] if units else None
            done = arrange(messages, last, self._number)
            system = None if done.system == self._system else done.system
            # Measured first and stored next: both can fail, and what follows cannot.
            system_size = 0 if system is None else self._size(system)
            change = 0
            if last is not None and done.results is not None:
                change = self._change(last.results, done.results)
            for unit in done.units:
                self._measured(unit)
            stored: list[Message] = done.kept if system is None else [system, *done.kept]
            if self._store is not None and stored:
                self._store.append(self._id, stored)
            if system is not None:
                self._system, self._system_size = system, system_size
            if last is not None and done.results is not None:
                last.results = done.results
                last.size += change
                self._total += change
            for unit in done.units:
                self._push(units, unit)
            self._number += len(done.units)
            self._waits = bool(units) and units[-1].is_waiting
            self._shrink(units)

    def replace(self, messages: Iterable[Message]) -> None:
        """Put ``messages`` in the place of those that ``messages()`` gives.

        Where there are as many units as before, each takes the place of the one at its position;
        so what the window has dropped stays in the store, in its place.  An assistant message
        whose calls are running stays, also where ``messages`` does not have it.

        Raises:
            ConfigurationError: something is not a message.
            MessageFormatError: a message has no JSON form; nothing was changed.
        """
        given = arrange(messages)
        with self._lock:
            units = self._read()
            new = given.units
            running: Unit | None = None
            if self._waits:
                running = self._running(units, new)
            if new and new[-1] is not running:
                new[-1].results = settled(new[-1], new[-1].results)
            if running is not None and (not new or new[-1] is not running):
                new.append(running)
            whole = self._with_dropped(units, new)
            if self._store is not None:
                history: list[Message] = [] if given.system is None else [given.system]
                for unit in whole:
                    history.extend(unit.messages())
                self._store.replace(self._id, history)
            self._begin(given.system, whole, waits=running is not None and whole[-1] is running)

    @staticmethod
    def _running(kept: list[Unit], new: list[Unit]) -> Unit | None:
        """Return the unit whose calls are running, as it is after a replacement."""
        waiting = kept[-1]
        # A round before it can look the same.
        is_there = (
            bool(new) and new[-1].message == waiting.message and (new[-1].is_waiting or len(new) >= len(kept))
        )
        if not is_there:
            unit = Unit(waiting.message, 0)
            unit.results = waiting.results
            return unit
        unit = new[-1]
        unit.results = [slot or known for slot, known in zip(unit.results, waiting.results, strict=True)]
        return unit if unit.is_waiting else None

    def _with_dropped(self, kept: list[Unit], new: list[Unit]) -> list[Unit]:
        """Return ``new`` in the place of ``kept`` within the whole conversation, renumbered."""
        whole = new
        if self._store is not None and len(kept) < self._number:
            history = arrange(self._store.load(self._id)).units
            if len(kept) == len(new):
                places = {unit.number: unit for unit in history}
                places.update(zip((unit.number for unit in kept), new, strict=True))
                whole = [places[number] for number in sorted(places)]
            else:
                first = kept[0].number if kept else self._number
                whole = [*history[:first], *new]
        for number, unit in enumerate(whole):
            unit.number = number
        return whole

    def clear(self) -> None:
        """Forget the conversation, in the store too."""
        with self._lock:
            if self._store is not None:
                self._store.delete(self._id)
            self._begin(None, [], waits=False)

    # ------------------------------------------------------------------------------ the window
    def _size(self, message: Message) -> int:
        """Return what a message takes of the window."""
        return 0

    def _measured(self, unit: Unit) -> int:
        if unit.size < 0:
            unit.size = self._size(unit.message) + self._change((), unit.results)
        return unit.size

    def _change(self, before: Sequence[Slot], after: Sequence[Slot]) -> int:
        """Return by how much a unit grows with new results; those that it had are not measured again."""
        change = 0
        for place, result in enumerate(after):
            old = before[place] if before else None
            if result is not None and result is not old:
                change += self._size(result) - (0 if old is None else self._size(old))
        return change

    def _push(self, units: list[Unit], unit: Unit) -> None:
        if self._starts_at_user and unit.is_user and units:
            # Before it there may be what came before the first message of the user, or a turn that
            # has lost its middle.
            has_gap = len(units) > 1 and units[1].number != units[0].number + 1
            if has_gap or not units[0].is_user:
                self._total = 0
                units.clear()
        self._total += unit.size
        units.append(unit)

    def _shrink(self, units: list[Unit]) -> None:
        """Drop the oldest units until the rest fits; the last one stays, whatever its size."""
        if self._limit is None:
            return
        room = self._limit - self._system_size
        while self._total > room and len(units) > 1:
            start, end = 0, 1
            if self._starts_at_user and units[0].is_user:
                while end < len(units) and not units[end].is_user:
                    end += 1
                if end == len(units):  # one long turn: its question stays
                    if len(units) == 2:
                        break
                    start, end = 1, 2
            self._total -= sum(unit.size for unit in units[start:end])
            del units[start:end]

    def _newest(self, units: list[Unit], system_size: int) -> tuple[list[Unit], int]:
        """Return what the window keeps of a whole conversation, as if added one by one, and its size.

        Only what may be kept is measured: a long conversation is not measured from its beginning.
        """
        if self._limit is None:
            for unit in units:
                self._measured(unit)
            return units, 0
        room = self._limit - system_size
        start, total = len(units), 0
        while start > 0 and (total + self._measured(units[start - 1]) <= room or start == len(units)):
            start -= 1
            total += units[start].size
        if not self._starts_at_user:
            return units[start:], total
        for place in range(start, len(units)):
            if units[place].is_user:
                return units[place:], sum(unit.size for unit in units[place:])
        question = next((unit for unit in reversed(units[:start]) if unit.is_user), None)
        if question is None:
            return units[start:], total
        total += self._measured(question)
        while total > room and start < len(units) - 1:
            total -= units[start].size
            start += 1
        return [question, *units[start:]], total

    # ------------------------------------------------------------------------------ turns
    def turn(self) -> Turn:
        """Keep other turns on this conversation out while the ``with`` block runs.

        Turns of threads and of tasks keep each other out, and begin in the order in which they
        asked.

        Raises:
            ConfigurationError: on entry: this thread or task has the turn already, or the wait
                would stop an event loop.
        """
        return self._turns.turn(self)

    def aturn(self) -> AsyncTurn:
        """Do what ``turn`` does, without blocking the event loop; waiting can be cancelled."""
        return self._turns.aturn(self)

    # ------------------------------------------------------------------------------ asynchronous
    @property
    def _is_direct(self) -> bool:
        """Whether a call waits for nothing but memory."""
        return self._store is None or getattr(self._store, "blocking", True) is False

    async def amessages(self) -> list[Message]:
        """Do what ``messages`` does; a store that blocks is read in a worker thread."""
        if self._is_direct or (self._units is not None and not self._lock.locked()):
            return self.messages()
        return await in_worker(self.messages)

    async def aadd(self, *messages: Message) -> None:
        """Do what ``add`` does; a store that blocks is written in a worker thread.

        Where the task is cancelled, the write is finished first.
        """
        if self._is_direct:
            self.add(*messages)
        else:
            await in_worker(lambda: self.add(*messages))

    async def areplace(self, messages: Iterable[Message]) -> None:
        """Do what ``replace`` does, as ``aadd`` does it."""
        given = list(messages)
        if self._is_direct:
            self.replace(given)
        else:
            await in_worker(lambda: self.replace(given))

    async def aclear(self) -> None:
        """Do what ``clear`` does, as ``aadd`` does it."""
        if self._is_direct:
            self.clear()
        else:
            await in_worker(self.clear)


def checked_id(id: Any) -> ConversationId:
    """Return a memory id.

    Raises:
        ConfigurationError: it is neither text nor a whole number of 64 bits, or the text is empty or
            has surrogates.
    """
    if isinstance(id, str) and id:
        try:
            id.encode()
        except UnicodeEncodeError:
            raise ConfigurationError(f"A memory id is valid Unicode, got {id!r}.") from None
        return id
    if isinstance(id, int) and not isinstance(id, bool) and -(2**63) <= id < 2**63:
        return id
    raise ConfigurationError(f"A memory id is text or a whole number of 64 bits, got {id!r}.")
