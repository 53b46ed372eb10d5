"""Streams of OpenAIChatModel from real servers on loopback, good and bad ones; both ways alike."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fasttool import stream_tools, tool
from fasttool.errors import (
    MissingExtraError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelRateLimitError,
    ModelRequestError,
    ModelResponseError,
    ModelServerError,
    ModelTimeoutError,
)
from fasttool.messages import ChatRequest, ChatResponse, UserMessage
from fasttool.models import StreamingChatModel
from fasttool.models.http import blocking, nonblocking
from fasttool.models.http.endpoint import Endpoint
from fasttool.models.openai import OpenAIChatModel
from fasttool.models.stream import ModelEvent, ResponseComplete, TextDelta, ToolCallComplete
from tests.loopback import Exchange, Serve, Server, completion
from tests.stream_events import calls_chunk, chunk, decoded, entry, merged, response_of, wire

KEY = "sk-very-secret-0123456789"
HELLO = ChatRequest([UserMessage("hello")])
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
ANSWER = wire(
    chunk({"role": "assistant", "content": ""}),
    *(chunk({"content": text}) for text in ("Hel", "lo, ", "上海", " 😀")),
    calls_chunk(entry(0, "a", "f", "")),
    calls_chunk(entry(0, None, None, '{"x": "é')),
    calls_chunk(entry(0, None, None, '"}')),
    calls_chunk(entry(1, "b", "g", "{}")),
    chunk({}, "tool_calls"),
    {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}},
)
SHORT = wire(chunk({"content": "hi"}), chunk({}, "stop"))


def piece(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def streams(*parts: bytes, end: bytes = b"0\r\n\r\n") -> Callable[[Exchange], bool]:
    """Return a behaviour that sends an answer in parts."""

    def behave(exchange: Exchange) -> bool:
        exchange.send(HEAD)
        for part in parts:
            exchange.send(piece(part))
        exchange.send(end)
        return bool(end)

    return behave


def model_of(server: Server, **options: Any) -> OpenAIChatModel:
    given: dict[str, Any] = {"base_url": server.url, "api_key": KEY, "timeout": 20.0}
    return OpenAIChatModel("m", **given | options)


class Way:
    """One of the two ways to ask for a stream; a test that takes ``way`` runs for both."""

    def __init__(self, name: str) -> None:
        self.name = name

    def streams(
        self, model: OpenAIChatModel, *requests: ChatRequest
    ) -> list[tuple[list[ModelEvent], ModelError | None]]:
        """Return the events of requests in turn, and what ended them early; then close the model."""
        if self.name == "sync":
            with model:
                return [self._events(model.stream(request)) for request in requests]

        async def run() -> list[tuple[list[ModelEvent], ModelError | None]]:
            async with model:
                return [await self._aevents(model.astream(request)) for request in requests]

        return asyncio.run(run())

    def events(self, model: OpenAIChatModel, request: ChatRequest = HELLO) -> list[ModelEvent]:
        [(events, error)] = self.streams(model, request)
        if error is not None:
            raise error
        return events

    def error(self, model: OpenAIChatModel) -> ModelError:
        [(_, error)] = self.streams(model, HELLO)
        assert error is not None
        cause: BaseException | None = error
        while cause is not None:
            assert KEY not in str(cause)
            cause = cause.__cause__ or cause.__context__
        return error

    def first(self, model: OpenAIChatModel, request: ChatRequest = HELLO) -> ModelEvent:
        """Return the first event, and leave."""
        if self.name == "sync":
            with model:
                events = model.stream(request)
                event = next(events)
                events.close()
                return event

        async def run() -> ModelEvent:
            async with model:
                events = model.astream(request)
                event = await anext(events)
                await events.aclose()
                return event

        return asyncio.run(run())

    @staticmethod
    def _events(stream: Generator[ModelEvent, None, None]) -> tuple[list[ModelEvent], ModelError | None]:
        events: list[ModelEvent] = []
        try:
            for event in stream:
                events.append(event)
        except ModelError as error:
            return events, error
        return events, None

    @staticmethod
    async def _aevents(
        stream: AsyncGenerator[ModelEvent, None],
    ) -> tuple[list[ModelEvent], ModelError | None]:
        events: list[ModelEvent] = []
        try:
            async for event in stream:
                events.append(event)
        except ModelError as error:
            return events, error
        return events, None


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> Way:
    return Way(request.param)


# ----------------------------------------------------------------------------------- it works
def test_a_streamed_answer(serve: Serve, way: Way) -> None:
    server = serve(streams(ANSWER))
    model = model_of(server, parameters={"temperature": 0})
    assert isinstance(model, StreamingChatModel)
    assert way.events(model) == decoded(ANSWER)
    [exchange] = server.exchanges
    assert json.loads(exchange.body) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


@pytest.mark.parametrize("seed", range(6))
def test_an_answer_that_is_cut_anywhere(serve: Serve, way: Way, seed: int) -> None:
    chance = random.Random(seed)
    parts: list[bytes] = []
    rest = ANSWER
    while rest:
        size = chance.choice((1, 2, 3, 20, 200))
        parts.append(rest[:size])
        rest = rest[size:]

    def behave(exchange: Exchange) -> bool:
        exchange.send(HEAD)
        for part in parts:
            sent = piece(part)
            middle = chance.randrange(len(sent))
            exchange.send(sent[:middle])
            exchange.send(sent[middle:])
        exchange.send(b"0\r\n\r\n")
        return True

    events = way.events(model_of(serve(behave)))
    assert merged(events) == merged(decoded(ANSWER))


def test_events_come_before_the_answer_ends(serve: Serve, way: Way) -> None:
    seen = threading.Event()

    def behave(exchange: Exchange) -> bool:
        exchange.send(HEAD + piece(wire(chunk({"content": "first"}), done=False)))
        assert seen.wait(10)
        exchange.send(piece(SHORT) + b"0\r\n\r\n")
        return True

    model = model_of(serve(behave))
    if way.name == "sync":
        with model:
            events = model.stream(HELLO)
            assert next(events) == TextDelta("first")
            seen.set()
            assert response_of(events).message.text == "firsthi"
    else:

        async def run() -> None:
            async with model:
                stream = model.astream(HELLO)
                assert await anext(stream) == TextDelta("first")
                seen.set()
                assert response_of([event async for event in stream]).message.text == "firsthi"

        asyncio.run(run())


def test_nothing_is_sent_before_the_first_step(serve: Serve) -> None:
    server = serve(streams(SHORT))
    with model_of(server) as model:
        model.stream(HELLO).close()
    assert server.connections == 0


def test_connections_are_kept_alive(serve: Serve, way: Way) -> None:
    server = serve(streams(SHORT))
    assert all(error is None for _, error in way.streams(model_of(server), *[HELLO] * 4))
    assert server.connections == 1


def test_streams_and_whole_answers_share_connections(serve: Serve) -> None:
    def behave(exchange: Exchange) -> bool:
        if json.loads(exchange.body).get("stream"):
            return streams(SHORT)(exchange)
        exchange.say("whole")
        return True

    server = serve(behave)
    with model_of(server) as model:
        assert response_of(model.stream(HELLO)).message.text == "hi"
        assert model.chat(HELLO).message.text == "whole"
        assert response_of(model.stream(HELLO)).message.text == "hi"
    assert server.connections == 1


def test_a_server_that_does_not_end_its_answer_costs_the_connection_only(
    serve: Serve, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocking, "DRAIN_SECONDS", 0.05)
    monkeypatch.setattr(nonblocking, "DRAIN_SECONDS", 0.05)

    def behave(exchange: Exchange) -> None:
        exchange.send(HEAD + piece(SHORT))
        exchange.wait()

    server = serve(behave)
    for events, error in way.streams(model_of(server), HELLO, HELLO):
        assert error is None
        assert response_of(events).message.text == "hi"
    assert server.connections == 2


def test_a_stream_within_a_stream(serve: Serve) -> None:
    server = serve(streams(*(wire(chunk({"content": text}), done=False) for text in "abc"), SHORT))
    with model_of(server) as model:
        texts = [
            (outer.text, [event.text for event in model.stream(HELLO) if isinstance(event, TextDelta)])
            for outer in model.stream(HELLO)
            if isinstance(outer, TextDelta)
        ]
    assert texts == [(text, ["a", "b", "c", "hi"]) for text in ("a", "b", "c", "hi")]


def test_many_at_once(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> bool:
        text = json.loads(exchange.body)["messages"][-1]["content"]
        return streams(wire(chunk({"content": text}), done=False), SHORT)(exchange)

    requests = [ChatRequest([UserMessage(f"{number}-")]) for number in range(30)]
    model = model_of(serve(behave))
    if way.name == "sync":
        with model, ThreadPoolExecutor(30) as pool:
            answers = list(pool.map(lambda request: response_of(model.stream(request)), requests))
    else:

        async def ask(request: ChatRequest) -> ChatResponse:
            return response_of([event async for event in model.astream(request)])

        async def run() -> list[ChatResponse]:
            async with model:
                return await asyncio.gather(*map(ask, requests))

        answers = asyncio.run(run())
    assert [answer.message.text for answer in answers] == [f"{number}-hi" for number in range(30)]


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ({"include_usage": False}, {"include_usage": False}),
        ({"include_usage": True, "x": 1}, {"include_usage": True, "x": 1}),
        (None, "absent"),
    ],
)
def test_the_options_of_the_stream_are_the_callers(serve: Serve, way: Way, options: Any, sent: Any) -> None:
    server = serve(streams(SHORT))
    way.events(model_of(server), ChatRequest(HELLO.messages, parameters={"stream_options": options}))
    assert json.loads(server.exchanges[0].body).get("stream_options", "absent") == sent


def test_a_whole_answer_is_asked_for_without_options_of_a_stream(serve: Serve) -> None:
    def behave(exchange: Exchange) -> bool:
        exchange.say()
        return True

    server = serve(behave)
    with model_of(server, parameters={"stream_options": {"include_usage": True}}) as model:
        model.chat(HELLO)
    assert {"stream", "stream_options"}.isdisjoint(json.loads(server.exchanges[0].body))


def test_a_server_that_answers_in_one_piece(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> bool:
        exchange.answer(completion("whole"), headers="Content-Type: application/json\r\n")
        return True

    server = serve(behave)
    first, second = way.streams(model_of(server), HELLO, HELLO)
    assert first == second
    assert first[1] is None
    assert merged(first[0])[0] == TextDelta("whole")
    assert response_of(first[0]).message.text == "whole"
    assert server.connections == 1


# ------------------------------------------------------------------------------ leaving early
def test_leaving_early_closes_the_connection(serve: Serve, way: Way) -> None:
    gone = threading.Event()

    def behave(exchange: Exchange) -> None:
        exchange.send(HEAD + piece(wire(chunk({"content": "first"}), done=False)))
        exchange.wait()
        gone.set()

    server = serve(behave)
    assert way.first(model_of(server)) == TextDelta("first")
    assert gone.wait(5)


def test_leaving_early_closes_a_connection_on_which_much_still_comes(serve: Serve, way: Way) -> None:
    sent = 0

    def behave(exchange: Exchange) -> None:
        nonlocal sent
        exchange.send(HEAD)
        part = piece(wire(chunk({"content": "x" * 1000}), done=False) * 50)
        while sent < 2**30:
            exchange.send(part)
            sent += len(part)

    server = serve(behave)
    assert way.first(model_of(server)) == TextDelta("x" * 1000)
    assert sent < 2**28


def test_a_stream_that_is_dropped_closes_the_connection(serve: Serve, way: Way) -> None:
    gone = threading.Event()

    def behave(exchange: Exchange) -> None:
        exchange.send(HEAD + piece(wire(chunk({"content": "first"}), done=False)))
        exchange.wait()
        gone.set()

    model = model_of(serve(behave))
    if way.name == "sync":
        with model:
            assert next(model.stream(HELLO)) == TextDelta("first")
            gc.collect()
            assert gone.wait(5)
    else:

        async def run() -> None:
            async with model:
                async for event in model.astream(HELLO):
                    assert event == TextDelta("first")
                    break
                gc.collect()
                assert await asyncio.to_thread(gone.wait, 5)

        asyncio.run(run())


def test_cancellation_closes_the_connection(serve: Serve) -> None:
    arrived, gone = threading.Event(), threading.Event()

    def behave(exchange: Exchange) -> bool:
        if len(server.exchanges) > 1:
            return streams(SHORT)(exchange)
        exchange.send(HEAD + piece(wire(chunk({"content": "first"}), done=False)))
        arrived.set()
        exchange.wait()
        gone.set()
        return False

    server = serve(behave)

    async def consume(model: OpenAIChatModel) -> None:
        async for _ in model.astream(HELLO):
            continue

    async def run() -> str | None:
        async with model_of(server) as model:
            task = asyncio.create_task(consume(model))
            await asyncio.to_thread(arrived.wait, 10)
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(gone.wait, 5)
            return response_of([event async for event in model.astream(HELLO)]).message.text

    assert asyncio.run(run()) == "hi"


def test_a_stream_goes_on_when_the_model_is_closed(serve: Serve) -> None:
    closed = threading.Event()

    def behave(exchange: Exchange) -> bool:
        exchange.send(HEAD + piece(wire(chunk({"content": "first"}), done=False)))
        assert closed.wait(10)
        exchange.send(piece(SHORT) + b"0\r\n\r\n")
        exchange.wait()  # ends when the client closes
        gone.set()
        return False

    gone = threading.Event()
    model = model_of(serve(behave))
    events = model.stream(HELLO)
    assert next(events) == TextDelta("first")
    model.close()
    closed.set()
    assert response_of(events).message.text == "firsthi"
    assert gone.wait(5)


# ------------------------------------------------------------------------------------- errors
STATUSES = [
    ("400 Bad Request", '{"error": {"message": "bad schema"}}', ModelRequestError, "bad schema"),
    ("401 Unauthorized", f'{{"error": {{"message": "key {KEY}"}}}}', ModelAuthenticationError, "key ***"),
    ("429 Too Many", '{"error": {"message": "slow down"}}', ModelRateLimitError, "again in 3 s"),
    ("503 Busy", "x" * 5000, ModelServerError, "xxx…"),
    ("200 OK", "<html>login</html>", ModelResponseError, "<html>login</html>"),
    ("200 OK", f'{{"error": {{"message": "over {KEY}"}}}}', ModelResponseError, "over ***"),
    ("200 OK", f"data: {KEY}\n\n", ModelResponseError, "not JSON"),
    ("200 OK", "", ModelConnectionError, "ended before the answer was complete"),
]


@pytest.mark.parametrize(("status", "body", "kind", "says"), STATUSES)
def test_answers_that_are_errors(
    serve: Serve, way: Way, status: str, body: str, kind: type[ModelError], says: str
) -> None:
    def behave(exchange: Exchange) -> bool:
        exchange.answer(body, status, "Retry-After: 3\r\n")
        return True

    server = serve(behave)
    error = way.error(model_of(server))
    assert type(error) is kind
    assert error.status == (int(status[:3]) if kind is not ModelConnectionError else None)
    assert says in str(error)
    assert len(server.exchanges) == 1


def test_an_error_answer_leaves_the_connection_usable(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> bool:
        if exchange.position == 0:
            exchange.answer("{}", "500 Oops")
            return True
        return streams(SHORT)(exchange)

    server = serve(behave)
    (_, first), (events, second) = way.streams(model_of(server), HELLO, HELLO)
    assert isinstance(first, ModelServerError)
    assert second is None
    assert response_of(events).message.text == "hi"
    assert server.connections == 1


def test_an_error_body_that_does_not_end(serve: Serve, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Endpoint, "body_limit", 300_000)

    def behave(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(2**14):
            exchange.send(piece(b" " * 65536))

    error = way.error(model_of(serve(behave)))
    assert type(error) is ModelResponseError
    assert "300,000 bytes" in str(error)


def test_an_error_in_the_stream(serve: Serve, way: Way) -> None:
    parts = (chunk({"content": "x"}), {"error": {"message": f"overloaded, {KEY}", "code": 503}})
    server = serve(streams(wire(*parts, done=False), end=b""))
    [(events, error)] = way.streams(model_of(server), HELLO)
    assert events == [TextDelta("x")]
    assert type(error) is ModelServerError
    assert error.status == 503
    assert str(error) == "The model's stream tells an error (503): overloaded, ***"


def test_a_stream_that_is_compressed_unasked(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> bool:
        exchange.answer(b"\x1f\x8b...", headers="Content-Encoding: gzip\r\n")
        return True

    assert "gzip" in str(way.error(model_of(serve(behave))))


CUTS = {
    "at once": (b"", ModelConnectionError),
    "in the head": (b"HTTP/1.1 200 OK\r\nContent-Le", ModelConnectionError),
    "after the head": (HEAD, ModelConnectionError),
    "in a chunk": (HEAD + piece(ANSWER)[:200], ModelConnectionError),
    "between chunks": (HEAD + piece(ANSWER[:301]), ModelConnectionError),
    "at the end of a stream that is not done": (
        HEAD
        + piece(wire(chunk({"content": "x"}), calls_chunk(entry(0, "a", "f", "{}")), done=False))
        + b"0\r\n\r\n",
        ModelConnectionError,
    ),
    "in a body without a length": (
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + ANSWER[:301],
        ModelConnectionError,
    ),
}


@pytest.mark.parametrize("close", ["end", "reset"])
@pytest.mark.parametrize(("sent", "kind"), CUTS.values(), ids=CUTS)
def test_a_stream_that_is_cut(
    serve: Serve, way: Way, sent: bytes, kind: type[ModelError], close: str
) -> None:
    def behave(exchange: Exchange) -> bool:
        exchange.send(sent)
        if close == "reset":
            time.sleep(0.02)  # so that it overtakes nothing
            exchange.reset()
        return False

    server = serve(behave)
    [(events, error)] = way.streams(model_of(server), HELLO)
    assert type(error) is kind
    assert not {ToolCallComplete, ResponseComplete} & set(map(type, events))
    assert len(server.exchanges) == 1


def test_a_connection_that_is_cut_after_the_end_of_the_answer(serve: Serve, way: Way) -> None:
    server = serve(streams(SHORT, end=b""))
    assert response_of(way.events(model_of(server))).message.text == "hi"


@pytest.mark.parametrize("sent", [b"", HEAD])
def test_what_comes_after_a_while_of_silence_is_a_timeout(serve: Serve, way: Way, sent: bytes) -> None:
    def behave(exchange: Exchange) -> None:
        exchange.send(sent)
        exchange.wait()

    error = way.error(model_of(serve(behave), timeout=0.3))
    assert type(error) is ModelTimeoutError
    assert "0.3 s" in str(error)


def test_a_stream_may_take_longer_than_the_timeout(serve: Serve, way: Way) -> None:
    timeout = 1.0

    def behave(exchange: Exchange) -> bool:
        exchange.send(HEAD)
        start = time.monotonic()
        while time.monotonic() < start + 1.3 * timeout:
            exchange.send(piece(b": still there\n\n"))
            exchange.stopping.wait(0.05)
        exchange.send(piece(SHORT) + b"0\r\n\r\n")
        return True

    assert response_of(way.events(model_of(serve(behave), timeout=timeout))).message.text == "hi"


def test_time_that_the_reader_takes_does_not_count(serve: Serve, way: Way) -> None:
    server = serve(streams(wire(chunk({"content": "first"}), done=False), SHORT))
    model = model_of(server, timeout=1.0)
    if way.name == "sync":
        with model:
            events = model.stream(HELLO)
            next(events)
            time.sleep(1.2)
            assert response_of(events).message.text == "firsthi"
    else:

        async def run() -> None:
            async with model:
                stream = model.astream(HELLO)
                await anext(stream)
                await asyncio.sleep(1.2)
                assert response_of([event async for event in stream]).message.text == "firsthi"

        asyncio.run(run())


# ---------------------------------------------------------------------------------- stale ones
@pytest.mark.parametrize("close", ["end", "reset"])
def test_a_reused_connection_that_closes_without_an_answer_is_tried_anew(
    serve: Serve, way: Way, close: str
) -> None:
    def behave(exchange: Exchange) -> bool:
        if exchange.position == 1:
            if close == "reset":
                exchange.reset()
            return False
        return streams(SHORT)(exchange)

    server = serve(behave)
    for events, error in way.streams(model_of(server), HELLO, HELLO):
        assert error is None
        assert response_of(events).message.text == "hi"
    assert [exchange.position for exchange in server.exchanges] == [0, 1, 0]


@pytest.mark.parametrize("sent", [b"HTTP/1.1 200", HEAD, HEAD + piece(ANSWER[:301])])
def test_a_stream_that_has_begun_is_not_tried_anew(serve: Serve, way: Way, sent: bytes) -> None:
    def behave(exchange: Exchange) -> bool:
        if exchange.position == 1:
            exchange.send(sent)
            return False
        return streams(SHORT)(exchange)

    server = serve(behave)
    (_, first), (_, second) = way.streams(model_of(server), HELLO, HELLO)
    assert first is None
    assert second is not None
    assert len(server.exchanges) == 2


@pytest.mark.parametrize("package", ["httpcore", "aiohttp"])
def test_each_way_needs_its_own_package_only(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with_package, without = Way("sync"), Way("async")
    if package == "httpcore":
        with_package, without = without, with_package
    model = model_of(serve(streams(SHORT)))
    assert response_of(with_package.events(model)).message.text == "hi"
    with pytest.raises(MissingExtraError, match=rf"{package}.*fasttool\[http\]"):
        without.events(model)


# ---------------------------------------------------------------------------------- in the loop
def test_a_run_that_streams(serve: Serve, way: Way) -> None:
    @tool
    def double(number: int) -> int:
        """Doubles a number."""
        return 2 * number

    def behave(exchange: Exchange) -> bool:
        request = json.loads(exchange.body)
        results = [message["content"] for message in request["messages"] if message["role"] == "tool"]
        if results:
            data = wire(chunk({"content": "It is "}), chunk({"content": results[-1]}), chunk({}, "stop"))
        else:
            call = [
                entry(0, "a", "double", ""),
                entry(0, None, None, '{"number"'),
                entry(0, None, None, ": 21}"),
            ]
            data = wire(*map(calls_chunk, call), chunk({}, "tool_calls"))
        return streams(data)(exchange)

    model = model_of(serve(behave))
    if way.name == "sync":
        with model, stream_tools(model, "Double 21", [double]) as stream:
            texts = [event.text for event in stream if isinstance(event, TextDelta)]
    else:

        async def run() -> list[str]:
            async with model, stream:
                return [event.text async for event in stream if isinstance(event, TextDelta)]

        stream = stream_tools(model, "Double 21", [double], eager=True)
        texts = asyncio.run(run())
    assert texts == ["It is ", "42"]
    assert stream.result is not None
    assert stream.result.content == "It is 42"
