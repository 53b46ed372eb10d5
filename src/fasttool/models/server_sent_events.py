"""Server-sent events, read from bytes as they arrive; no I/O.

The format is that of the HTML standard, section 9.2.6: lines end with LF, CR or CRLF, an empty line
ends an event, a line that begins with a colon is a comment.
"""

from __future__ import annotations

from fasttool.errors import ModelResponseError

EVENT_LIMIT = 64 * 2**20
"""Bytes of one event that are kept at most."""

ServerSentEvent = tuple[bytes, bytes]
"""The name of an event, empty where it has none, and its data."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINE_ENDS = (b"\n", b"\r")


class EventReader:
    """Cuts bytes into events, wherever the network has cut them.

    Bytes of a line that has not ended are kept in pieces, and joined once: a long event costs no more
    than a short one, byte for byte.

    Args:
        limit: bytes of one event that are kept at most.
    """

    __slots__ = ("_after_return", "_data", "_limit", "_name", "_pieces", "_size", "_start")

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        self._limit = limit
        self._start: bytes | None = b""  # until it is known whether a byte order mark stands there
        self._after_return = False
        self._pieces: list[bytes] = []
        self._data: list[bytes] = []
        self._name = b""
        self._size = 0  # of the pieces and the data

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Return the events that end in these bytes.

        Raises:
            ModelResponseError: an event is larger than the limit.
        """
        if self._start is not None:
            data = self._start = self._start + data
            if len(data) < 3 and _BYTE_ORDER_MARK.startswith(data):
                return []
            self._start = None
            data = data.removeprefix(_BYTE_ORDER_MARK)
        if self._after_return and data:
            # The other half of a CRLF.
            self._after_return = False
            data = data.removeprefix(b"\n")
        if not data:
            return []
        # These are the line ends that splitlines knows in bytes, and no others.
        lines = data.splitlines()
        if data.endswith(_LINE_ENDS):
            self._after_return = data.endswith(b"\r")
            rest = b""
        else:
            rest = lines.pop()
        events: list[ServerSentEvent] = []
        if lines:
            if self._pieces:
                self._pieces.append(lines[0])
                self._size -= sum(map(len, self._pieces[:-1]))
                lines[0] = b"".join(self._pieces)
                self._pieces = []
            found = self._data
            for line in lines:
                if line.startswith(b"data: "):  # as all but a few begin
                    found.append(line[6:])
                    self._size += len(line)
                    if self._size > self._limit:
                        raise self._too_large()
                elif line:
                    self._add(line)
                elif found:
                    events.append((self._name, found[0] if len(found) == 1 else b"\n".join(found)))
                    found.clear()
                    self._name = b""
                    self._size = 0
                else:
                    self._name = b""
        if rest:
            self._pieces.append(rest)
            self._size += len(rest)
            if self._size > self._limit:
                raise self._too_large()
        return events

    def end(self) -> list[ServerSentEvent]:
        """Return the event that the end of the bytes has left without its empty line, if there is one."""
        line = (self._start or b"") + b"".join(self._pieces)
        self._start = None
        self._pieces = []
        if line:
            self._add(line)
        return [(self._name, b"\n".join(self._data))] if self._data else []

    def _add(self, line: bytes) -> None:
        if line.startswith(b"data:") or line == b"data":
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            self._size += len(line)
            if self._size > self._limit:
                raise self._too_large()
        elif line.startswith(b"event:"):
            self._name = line[6:].strip()
        # Everything else has no meaning here: comments, ids, the time to wait before connecting again.

    def _too_large(self) -> ModelResponseError:
        return ModelResponseError(
            f"An event of the model's stream is larger than the limit, {self._limit:,} bytes."
        )
