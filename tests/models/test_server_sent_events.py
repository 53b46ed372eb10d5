"""Events cut out of bytes, wherever the network has cut those."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fasttool.errors import ModelResponseError
from fasttool.models.server_sent_events import EventReader, ServerSentEvent


def read(*pieces: bytes, limit: int = 1000) -> list[ServerSentEvent]:
    reader = EventReader(limit)
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events + reader.end()


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"", []),
        (b"data: a\n\n", [(b"", b"a")]),
        (b"data:a\n\ndata:  b\n\n", [(b"", b"a"), (b"", b" b")]),
        (b"data: a\r\n\r\ndata: b\r\r", [(b"", b"a"), (b"", b"b")]),
        (b"\xef\xbb\xbfdata: a\n\n", [(b"", b"a")]),
        (b": busy\n\n:\n\ndata: a\n: again\n\n", [(b"", b"a")]),
        (b"data: a\ndata: b\ndata\n\n", [(b"", b"a\nb\n")]),
        (b"event: error\ndata: a\n\ndata: b\n\n", [(b"error", b"a"), (b"", b"b")]),
        (b"event: lost\n\ndata: b\n\n", [(b"", b"b")]),
        (b"id: 1\nretry: 10\ndata: a\nother: x\nnothing\n\n", [(b"", b"a")]),
        (b"data: a", [(b"", b"a")]),
        (b"data: a\n", [(b"", b"a")]),
        (b"\n\n\ndata: a\n\n\n\n", [(b"", b"a")]),
        ("data: é\u2028\x85\x0b\x1c\n\n".encode(), [(b"", "é\u2028\x85\x0b\x1c".encode())]),
    ],
)
def test_events(data: bytes, events: list[ServerSentEvent]) -> None:
    assert read(data) == events
    assert read(*(data[place : place + 1] for place in range(len(data)))) == events


LINES = st.sampled_from(
    [b"", b"", b"data: a", b"data:", b"data", b"data: \xc3\xa9", b": x", b"event: e", b"x", b"\xef\xbb\xbf"]
)
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])


@given(st.lists(st.tuples(LINES, ENDS)), st.lists(st.integers(0, 200)))
@example([(b"data: a", b"\r\n"), (b"", b"\r\n"), (b"data: b", b"\n"), (b"", b"\n")], [8, 9, 10])
def test_how_the_bytes_are_cut_makes_no_difference(lines: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    data = b"".join(line + end for line, end in lines)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[start:end] for start, end in itertools.pairwise(places)]
    assert read(*pieces) == read(data)


@pytest.mark.parametrize("data", [b"data: " + b"x" * 95, b"data:\n" * 101, b": " + b"x" * 100])
def test_an_event_that_is_too_large(data: bytes) -> None:
    with pytest.raises(ModelResponseError, match="larger than the limit, 100 bytes"):
        read(*(data[place : place + 7] for place in range(0, len(data), 7)), limit=100)


def test_the_limit_is_that_of_one_event() -> None:
    data = (b"data: " + b"x" * 80 + b"\n\n") * 50
    assert len(read(*(data[place : place + 7] for place in range(0, len(data), 7)), limit=100)) == 50


def test_a_long_line_is_joined_once() -> None:
    reader = EventReader()
    piece = b"x" * 1000
    assert reader.feed(b"data: ") == []
    for _ in range(20_000):
        assert reader.feed(piece) == []
    assert len(reader._pieces) == 20_001  # kept as they came
    [(_, data)] = reader.feed(b"\n\n")
    assert data == piece * 20_000
    assert reader._pieces == []
