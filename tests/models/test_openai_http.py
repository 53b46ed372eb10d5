"""OpenAIChatModel against real servers on loopback that answer well, badly or not at all; both ways alike."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import gc
import json
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fasttool.errors import (
    ConfigurationError,
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
from fasttool.messages import AiMessage, ChatRequest, ChatResponse, UserMessage
from fasttool.models.http.endpoint import Endpoint
from fasttool.models.http.failures import retry_after
from fasttool.models.openai import OpenAIChatModel
from fasttool.models.protocol import ChatModel
from tests.loopback import Exchange, Serve, Server, completion

KEY = "sk-very-secret-0123456789"
HELLO = ChatRequest([UserMessage("hello")])


# ------------------------------------------------------------------------------------ two ways
class Way:
    """One of the two ways to ask; a test that takes ``way`` runs for both."""

    def __init__(self, name: str) -> None:
        self.name = name

    def ask(self, model: OpenAIChatModel, *requests: ChatRequest) -> list[ChatResponse | ModelError]:
        """Return the answers or errors of requests in turn, on one event loop; then close the model."""
        if self.name == "sync":
            with model:
                return [self._outcome(model, request) for request in requests]

        async def run() -> list[ChatResponse | ModelError]:
            async with model:
                return [await self._aoutcome(model, request) for request in requests]

        return asyncio.run(run())

    def text(self, model: OpenAIChatModel, request: ChatRequest = HELLO) -> str | None:
        [answer] = self.ask(model, request)
        if isinstance(answer, ModelError):
            raise answer
        return answer.message.text

    def texts(self, model: OpenAIChatModel, count: int) -> list[str | None]:
        """Return the answers to texts "0", "1", ... that are asked at once."""
        requests = [ChatRequest([UserMessage(str(number))]) for number in range(count)]
        if self.name == "sync":
            with model, ThreadPoolExecutor(count) as pool:
                return [answer.message.text for answer in pool.map(model.chat, requests)]

        async def run() -> list[str | None]:
            async with model:
                answers = await asyncio.gather(*map(model.achat, requests))
            return [answer.message.text for answer in answers]

        return asyncio.run(run())

    def error(self, model: OpenAIChatModel) -> ModelError:
        [error] = self.ask(model, HELLO)
        assert isinstance(error, ModelError)
        assert_presentable(error)
        return error

    @staticmethod
    def _outcome(model: OpenAIChatModel, request: ChatRequest) -> ChatResponse | ModelError:
        try:
            return model.chat(request)
        except ModelError as error:
            return error

    @staticmethod
    async def _aoutcome(model: OpenAIChatModel, request: ChatRequest) -> ChatResponse | ModelError:
        try:
            return await model.achat(request)
        except ModelError as error:
            return error


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> Way:
    return Way(request.param)


def assert_presentable(error: BaseException) -> None:
    """One printable sentence without the key, down the chain of causes."""
    assert str(error).isprintable()
    cause: BaseException | None = error
    while cause is not None:
        assert KEY not in str(cause)
        assert KEY not in repr(cause)
        cause = cause.__cause__ or cause.__context__


def model_of(server: Server | str, **options: Any) -> OpenAIChatModel:
    url = server if isinstance(server, str) else server.url
    given: dict[str, Any] = {"base_url": url, "api_key": KEY, "timeout": 20.0}
    return OpenAIChatModel("m", **given | options)


def echo(exchange: Exchange) -> bool:
    exchange.say(json.loads(exchange.body)["messages"][-1]["content"])
    return True


# --------------------------------------------------------------------------------- it works
def test_a_question_and_its_answer(serve: Serve, way: Way) -> None:
    server = serve(echo)
    model = model_of(server, headers={"X-Extra": "1"}, parameters={"temperature": 0})
    assert isinstance(model, ChatModel)
    assert way.text(model) == "hello"
    [exchange] = server.exchanges
    lines = exchange.head.split("\r\n")
    assert lines[0] == "POST /v1/chat/completions HTTP/1.1"
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
    assert headers["host"] == f"127.0.0.1:{server.port}"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["content-type"] == "application/json"
    assert headers["accept-encoding"] == "identity"
    assert headers["x-extra"] == "1"
    assert json.loads(exchange.body) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "temperature": 0,
    }


def test_connections_are_kept_alive(serve: Serve, way: Way) -> None:
    server = serve(echo)
    assert len(way.ask(model_of(server), *[HELLO] * 5)) == 5
    assert server.connections == 1


def test_a_connection_that_the_server_wants_closed_is_not_kept(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> bool:
        exchange.answer(completion("x"), headers="Connection: close\r\n")
        return False

    server = serve(behave)
    answers = way.ask(model_of(server), *[HELLO] * 3)
    assert [type(answer) for answer in answers] == [ChatResponse] * 3
    assert server.connections == 3


@pytest.mark.parametrize("ending", ["chunked", "close"])
def test_bodies_without_a_length(serve: Serve, way: Way, ending: str) -> None:
    text = "long " * 30_000

    def behave(exchange: Exchange) -> bool:
        body = completion(text)
        if ending == "close":
            exchange.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)
            return False
        exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for start in range(0, len(body), 7001):
            piece = body[start : start + 7001]
            exchange.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        exchange.send(b"0\r\n\r\n")
        return True

    server = serve(behave)
    assert way.text(model_of(server)) == text


def test_a_large_request(serve: Serve, way: Way) -> None:
    server = serve(echo)
    text = "x" * 3_000_000
    assert way.text(model_of(server), ChatRequest([UserMessage(text)])) == text


def test_no_key_no_authorization(serve: Serve, way: Way) -> None:
    server = serve(echo)
    assert way.text(model_of(server, api_key=None)) == "hello"
    assert "authorization" not in server.exchanges[0].head.lower()


def test_key_and_address_come_from_the_environment(
    serve: Serve, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(echo)
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
    assert way.text(OpenAIChatModel("m")) == "hello"
    assert f"Authorization: Bearer {KEY}" in server.exchanges[0].head.split("\r\n")
    assert server.exchanges[0].head.startswith("POST /v1/chat/completions ")


def test_headers_of_the_caller_win_whatever_their_case(serve: Serve, way: Way) -> None:
    server = serve(echo)
    way.text(model_of(server, headers={"authorization": "Basic x", "user-agent": "mine"}))
    found = [line.lower() for line in server.exchanges[0].head.split("\r\n")]
    assert [line for line in found if line.startswith(("authorization", "user-agent"))] == [
        "authorization: basic x",
        "user-agent: mine",
    ]


def test_a_query_in_the_address_is_kept(serve: Serve, way: Way) -> None:
    server = serve(echo)
    way.text(model_of(f"{server.url}/?api-version=1%2F2"))
    assert server.exchanges[0].head.startswith("POST /v1/chat/completions?api-version=1%2F2 HTTP/1.1")


def test_a_closed_model_opens_new_connections(serve: Serve, way: Way) -> None:
    server = serve(echo)
    model = model_of(server)
    assert [way.text(model), way.text(model)] == ["hello", "hello"]
    assert server.connections == 2


# ------------------------------------------------------------------------------- many at once
def test_many_at_once_get_their_own_answers(serve: Serve, way: Way) -> None:
    server = serve(echo)
    count = 50 if way.name == "sync" else 100
    assert way.texts(model_of(server), count) == [str(number) for number in range(count)]


def test_threads_with_loops_of_their_own_share_a_model(serve: Serve) -> None:
    model = model_of(serve(echo))

    def run(number: int) -> list[str | None]:
        async def ask() -> list[str | None]:
            request = ChatRequest([UserMessage(str(number))])
            return [(await model.achat(request)).message.text for _ in range(3)]

        return asyncio.run(ask())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(16))) == [[str(number)] * 3 for number in range(16)]


# --------------------------------------------------------------------------------- statuses
STATUSES = [
    ("400 Bad Request", '{"error": {"message": "bad schema"}}', ModelRequestError, "bad schema"),
    (
        "401 Unauthorized",
        f'{{"error": {{"message": "wrong key {KEY}"}}}}',
        ModelAuthenticationError,
        "wrong key",
    ),
    ("403 Forbidden", '{"detail": "no"}', ModelAuthenticationError, "no"),
    ("404 Not Found", '{"message": "no such model"}', ModelRequestError, "no such model"),
    ("404 Not Found", f"<h1>Not\r\n\x00here</h1> {KEY}", ModelRequestError, "<h1>Not here</h1>"),
    ("413 Too Large", "", ModelRequestError, "(413)."),
    ("422 Unprocessable", '{"detail": [{"msg": "field required"}]}', ModelRequestError, "field required"),
    ("429 Too Many", '{"error": {"message": "slow down"}}', ModelRateLimitError, "slow down"),
    ("500 Oops", '{"error": "broken"}', ModelServerError, "broken"),
    ("503 Busy", "x" * 5000, ModelServerError, "xxx…"),
    ("307 Temporary", "", ModelRequestError, "redirects"),
    ("200 OK", "<html>login</html>", ModelResponseError, "<html>login</html>"),
    ("200 OK", '{"choices": [', ModelResponseError, "not JSON"),
    ("200 OK", f'{{"error": {{"message": "over {KEY}"}}}}', ModelResponseError, "over"),
    ("200 OK", f"key {KEY}", ModelResponseError, "key ***"),
    ("200 OK", "", ModelResponseError, "empty body"),
    ("204 No Content", "", ModelResponseError, "empty body"),
]


@pytest.mark.parametrize(("status", "body", "kind", "says"), STATUSES)
def test_answers_that_are_errors(
    serve: Serve, way: Way, status: str, body: str, kind: type[ModelError], says: str
) -> None:
    def behave(exchange: Exchange) -> bool:
        exchange.answer(body, status, "Location: http://127.0.0.1:1/elsewhere\r\n")
        return True

    server = serve(behave)
    error = way.error(model_of(server))
    assert type(error) is kind
    assert error.status == int(status[:3])
    assert says in str(error)
    assert len(str(error)) < 500
    assert len(server.exchanges) == 1


def test_an_error_answer_leaves_the_connection_usable(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> bool:
        if exchange.position == 0:
            exchange.answer("{}", "500 Oops")
        else:
            exchange.say()
        return True

    server = serve(behave)
    first, second = way.ask(model_of(server), HELLO, HELLO)
    assert isinstance(first, ModelServerError)
    assert isinstance(second, ChatResponse)
    assert server.connections == 1


def test_secrets_in_headers_are_not_shown(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> bool:
        exchange.answer(exchange.head, "400 Bad")
        return True

    error = way.error(model_of(serve(behave), headers={"X-Api-Key": "other-secret"}))
    assert "other-secret" not in str(error)


def in_ten_seconds() -> str:
    return email.utils.formatdate(time.time() + 10, usegmt=True)


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ("Retry-After: 3\r\n", 3.0, 3.0),
        ("Retry-After: 0.5\r\n", 0.5, 0.5),
        ("Retry-After: date\r\n", 1.0, 10.0),
        ("Retry-After: 9\r\nRetry-After-Ms: 250\r\n", 0.25, 0.25),
        ("Retry-After: Tue, 01 Dec 1998 12:00:00 GMT\r\n", 0.0, 0.0),
    ],
)
def test_a_rate_limit_says_how_long(serve: Serve, way: Way, headers: str, least: float, most: float) -> None:
    def behave(exchange: Exchange) -> bool:
        exchange.answer("{}", "429 Slow", headers.replace("date", in_ten_seconds()))
        return True

    error = way.error(model_of(serve(behave)))
    assert isinstance(error, ModelRateLimitError)
    assert error.retry_after is not None
    assert least <= error.retry_after <= most


@pytest.mark.parametrize(
    "value",
    ["", "soon", "-1", "nan", "inf", "1e999", "Tue, 99 Foo 2026", "3; x", "Mon, 01 Jan 99999 00:00:00 GMT"],
)
def test_a_rate_limit_that_says_nonsense_says_nothing(value: str) -> None:
    assert retry_after({"retry-after": value}) is None
    assert retry_after({}) is None


def test_an_answer_that_is_compressed_unasked(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> bool:
        exchange.answer(b"\x1f\x8b...", headers="Content-Encoding: gzip\r\n")
        return True

    error = way.error(model_of(serve(behave)))
    assert isinstance(error, ModelResponseError)
    assert "gzip" in str(error)


# ------------------------------------------------------------------------------- connections
def test_nobody_listens(way: Way) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    error = way.error(model_of(f"http://127.0.0.1:{port}/v1"))
    assert type(error) is ModelConnectionError
    assert f"127.0.0.1:{port}" in str(error)
    assert "refused" in str(error)


def test_a_host_that_does_not_exist(way: Way) -> None:
    error = way.error(model_of("http://no-such-host.invalid/v1"))
    assert type(error) is ModelConnectionError
    assert "no-such-host.invalid:80" in str(error)


def test_tls_with_a_server_that_has_none(serve: Serve, way: Way) -> None:
    server = serve(echo)
    error = way.error(model_of(server.url.replace("http:", "https:")))
    assert type(error) is ModelConnectionError


CUTS = {
    "before anything": b"",
    "in the status line": b"HTTP/1.1 20",
    "within the headers": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n",
    "within a header": b"HTTP/1.1 200 OK\r\nContent-Le",
    "within the body": b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"choices": [',
    "within a chunk": b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n{"choices": [',
    "before the last chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
}


@pytest.mark.parametrize("close", ["end", "reset"])
@pytest.mark.parametrize("sent", CUTS.values(), ids=CUTS.keys())
def test_a_cut_answer(serve: Serve, way: Way, sent: bytes, close: str) -> None:
    def behave(exchange: Exchange) -> bool:
        exchange.send(sent)
        if close == "reset":
            exchange.reset()
        return False

    server = serve(behave)
    error = way.error(model_of(server))
    assert type(error) in (ModelConnectionError, ModelResponseError)
    if sent != CUTS["in the status line"]:
        assert type(error) is ModelConnectionError
    assert f"127.0.0.1:{server.port}" in str(error)
    assert len(server.exchanges) == 1


def test_a_length_that_is_too_small(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> bool:
        if len(server.exchanges) == 1:
            body = completion("hi")
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n" + body)
        else:
            exchange.say()
        return True

    server = serve(behave)
    first, second, third = way.ask(model_of(server), HELLO, HELLO, HELLO)
    assert isinstance(first, ModelError)
    # What was left over spoils one more answer at most.
    assert isinstance(second, ModelError) or second.message == AiMessage("hi")
    assert isinstance(third, ChatResponse)
    assert third.message == AiMessage("hi")
    assert server.connections == 2


@pytest.mark.parametrize(
    "garbage", [b"\x00\x01\x02\r\n\r\n", b"SSH-2.0-OpenSSH_9\r\n\r\n", b"HTTP/1.1 abc OK\r\n\r\n"]
)
def test_a_server_that_does_not_speak_http(serve: Serve, way: Way, garbage: bytes) -> None:
    def behave(exchange: Exchange) -> None:
        exchange.send(garbage)

    server = serve(behave)
    error = way.error(model_of(server))
    assert type(error) is ModelResponseError
    assert f"127.0.0.1:{server.port}" in str(error)


def test_headers_without_end(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\nX-Long: ")
        for _ in range(64):
            exchange.send(b"x" * 65536)

    error = way.error(model_of(serve(behave)))
    assert type(error) in (ModelResponseError, ModelConnectionError)


# ---------------------------------------------------------------------------------- timeouts
def test_a_slow_server(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> None:
        exchange.wait()

    server = serve(behave)
    error = way.error(model_of(server, timeout=0.3))
    assert type(error) is ModelTimeoutError
    assert "0.3 s" in str(error)
    assert len(server.exchanges) == 1


@pytest.mark.parametrize("part", ["headers", "body", "chunks"])
def test_a_server_that_drips(serve: Serve, way: Way, part: str) -> None:
    heads = {
        "headers": b"HTTP/1.1 200 OK\r\nX: ",
        "body": b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n",
        "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    }
    finished: list[bool] = []

    def behave(exchange: Exchange) -> None:
        exchange.send(heads[part])
        for _ in range(400):
            if exchange.stopping.wait(0.02):
                return
            exchange.send(b"1\r\n \r\n" if part == "chunks" else b" ")
        finished.append(True)

    server = serve(behave)
    assert type(way.error(model_of(server, timeout=0.4))) is ModelTimeoutError
    assert not finished


def test_a_server_that_says_wait_for_ever(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> None:
        while not exchange.stopping.is_set():
            exchange.send(b"HTTP/1.1 102 Processing\r\n\r\n" * 100)

    assert type(way.error(model_of(serve(behave), timeout=0.4))) is ModelTimeoutError


@pytest.mark.parametrize("secure", [False, True])
def test_a_server_that_reads_too_slowly(
    secure: bool,
    tls: ssl.SSLContext,
    certificate: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    done = threading.Event()

    def read_slowly() -> None:
        plain, _ = listener.accept()
        with (
            contextlib.suppress(OSError),
            tls.wrap_socket(plain, server_side=True) if secure else plain as sock,
        ):
            while not done.wait(0.02) and sock.recv(16384):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        thread = threading.Thread(target=read_slowly, daemon=True)
        thread.start()
        model = model_of(
            f"http{'s' * secure}://127.0.0.1:{listener.getsockname()[1]}/v1",
            timeout=0.5,
            parameters={"user": "x" * 40_000_000},
        )
        assert type(Way("sync").error(model)) is ModelTimeoutError
        assert thread.is_alive()  # it has not read all
        done.set()
        thread.join(20)


def test_a_timeout_leaves_the_model_usable(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> bool:
        if len(server.exchanges) == 1:
            exchange.wait()
            return False
        return echo(exchange)

    server = serve(behave)
    first, second = way.ask(model_of(server, timeout=1.0), HELLO, HELLO)
    assert isinstance(first, ModelTimeoutError)
    assert isinstance(second, ChatResponse)


def test_a_port_that_takes_no_connections(way: Way) -> None:
    with socket.socket() as full, contextlib.ExitStack() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):  # Linux drops what does not fit into the queue
            sock = waiting.enter_context(socket.socket())
            sock.setblocking(False)
            sock.connect_ex(full.getsockname())
        error = way.error(model_of(f"http://127.0.0.1:{full.getsockname()[1]}/v1", connect_timeout=0.3))
    assert type(error) is ModelTimeoutError
    assert "took no connection within 0.3 s" in str(error)


# -------------------------------------------------------------------------------- stale ones
@pytest.mark.parametrize("pause", [0.0, 0.1])
@pytest.mark.parametrize("close", ["end", "reset"])
def test_a_connection_that_closed_while_idle(serve: Serve, way: Way, close: str, pause: float) -> None:
    def behave(exchange: Exchange) -> bool:
        exchange.say()
        if close == "reset":
            exchange.reset()
        return False

    server = serve(behave)
    model = model_of(server)
    if way.name == "sync":
        with model:
            for _ in range(3):
                assert model.chat(HELLO).message.text == "hi"
                time.sleep(pause)
    else:

        async def run() -> None:
            async with model:
                for _ in range(3):
                    assert (await model.achat(HELLO)).message.text == "hi"
                    time.sleep(pause)  # the loop must not see the end before the next request

        asyncio.run(run())
    assert len(server.exchanges) == 3


def test_the_word_of_a_server_that_ends_an_idle_connection_is_not_taken(serve: Serve, way: Way) -> None:
    first_read, sent = threading.Event(), threading.Event()

    def behave(exchange: Exchange) -> bool:
        exchange.say("asked")
        if len(server.exchanges) > 1:
            return True
        first_read.wait(10)
        exchange.answer(completion("unasked"), "408 Request Timeout")  # what balancers say to the idle
        sent.set()
        return False

    def between() -> None:
        first_read.set()
        assert sent.wait(10)
        time.sleep(0.05)

    server = serve(behave)
    model = model_of(server)
    if way.name == "sync":
        with model:
            model.chat(HELLO)
            between()
            assert model.chat(HELLO).message.text == "asked"
    else:

        async def run() -> None:
            async with model:
                await model.achat(HELLO)
                await asyncio.to_thread(between)
                assert (await model.achat(HELLO)).message.text == "asked"

        asyncio.run(run())
    assert server.connections == 2


@pytest.mark.parametrize("close", ["end", "reset"])
def test_a_reused_connection_that_closes_without_an_answer_is_tried_anew(
    serve: Serve, way: Way, close: str
) -> None:
    def behave(exchange: Exchange) -> bool:
        if exchange.position == 1:
            if close == "reset":
                exchange.reset()
            return False
        return echo(exchange)

    server = serve(behave)
    first, second = way.ask(model_of(server), HELLO, HELLO)
    assert isinstance(first, ChatResponse)
    assert isinstance(second, ChatResponse)
    assert [exchange.position for exchange in server.exchanges] == [0, 1, 0]


def test_it_is_tried_anew_once(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> bool:
        return len(server.exchanges) == 1 and echo(exchange)

    server = serve(behave)
    _, second = way.ask(model_of(server), HELLO, HELLO)
    assert type(second) is ModelConnectionError
    assert [exchange.position for exchange in server.exchanges] == [0, 1, 0]


@pytest.mark.parametrize(
    "sent", [sent for sent in CUTS.values() if sent], ids=[name for name in CUTS if CUTS[name]]
)
def test_a_reused_connection_that_answered_in_part_is_not_tried_anew(
    serve: Serve, way: Way, sent: bytes
) -> None:
    def behave(exchange: Exchange) -> bool:
        if exchange.position == 1:
            exchange.send(sent)
            return False
        return echo(exchange)

    server = serve(behave)
    _, second = way.ask(model_of(server), HELLO, HELLO)
    assert isinstance(second, ModelError)
    assert len(server.exchanges) == 2


# -------------------------------------------------------------------------------- body limit
def test_a_body_that_announces_too_much(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 67108865\r\n\r\n")
        exchange.wait()

    error = way.error(model_of(serve(behave)))
    assert type(error) is ModelResponseError
    assert "67,108,864 bytes" in str(error)


@pytest.mark.parametrize("status", ["200 OK", "500 Oops"])
def test_a_body_that_does_not_end(
    serve: Serve, way: Way, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    monkeypatch.setattr(Endpoint, "body_limit", 300_000)
    sent = 0

    def behave(exchange: Exchange) -> None:
        nonlocal sent
        exchange.send(f"HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        while sent < 2**30:
            exchange.send(b"10000\r\n" + b" " * 65536 + b"\r\n")
            sent += 65536

    error = way.error(model_of(serve(behave)))
    assert type(error) is ModelResponseError
    assert "300,000 bytes" in str(error)
    assert sent < 2**28


# ------------------------------------------------------------------------ event loops, cancellation
def test_cancellation_passes_through_and_leaves_the_model_usable(serve: Serve) -> None:
    arrived = threading.Event()

    def behave(exchange: Exchange) -> bool:
        if len(server.exchanges) == 1:
            arrived.set()
            exchange.wait()
            return False
        return echo(exchange)

    server = serve(behave)

    async def run() -> str | None:
        async with model_of(server) as model:
            task = asyncio.create_task(model.achat(HELLO))
            await asyncio.to_thread(arrived.wait, 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return (await model.achat(HELLO)).message.text

    assert asyncio.run(run()) == "hello"


def test_one_model_in_one_event_loop_after_another(serve: Serve) -> None:
    server = serve(echo)
    model = model_of(server)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(4):
            assert asyncio.run(model.achat(HELLO)).message.text == "hello"
            assert not model._async._sessions
            gc.collect()
        del model
        gc.collect()
    assert [str(warning.message) for warning in caught] == []
    assert server.connections == 4


def test_a_loop_that_is_closed_by_hand_keeps_no_session(serve: Serve) -> None:
    model = model_of(serve(echo))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            loop = asyncio.new_event_loop()
            assert loop.run_until_complete(model.achat(HELLO)).message.text == "hello"
            loop.close()
            assert len(model._async._sessions) == 1
        del model
        gc.collect()
    # Python warns of its own transport and socket: such a loop gives nobody a notice of its end.
    texts = [str(warning.message) for warning in caught]
    assert [text for text in texts if not text.startswith(("unclosed transport", "unclosed <socket"))] == []


def test_a_model_that_is_dropped_closes_its_connections(serve: Serve) -> None:
    closed = threading.Event()

    def behave(exchange: Exchange) -> bool:
        echo(exchange)
        exchange.wait()
        closed.set()
        return False

    server = serve(behave)

    async def run() -> bool:
        holder: list[Any] = [model_of(server)]
        await holder[0].achat(HELLO)
        holder.append(holder)  # a cycle: only the collector finds it
        del holder
        gc.collect()
        return await asyncio.to_thread(closed.wait, 5)

    assert asyncio.run(run())


def test_a_dropped_sync_model_closes_its_connections(serve: Serve) -> None:
    closed = threading.Event()

    def behave(exchange: Exchange) -> bool:
        echo(exchange)
        exchange.wait()
        closed.set()
        return False

    model = model_of(serve(behave))
    assert model.chat(HELLO).message.text == "hello"
    del model
    gc.collect()
    assert closed.wait(5)


def test_close_reaches_a_running_loop(serve: Serve) -> None:
    server = serve(echo)

    async def run() -> None:
        model = model_of(server)
        await model.achat(HELLO)
        await asyncio.to_thread(model.close)
        await asyncio.sleep(0.05)
        await model.achat(HELLO)
        await model.aclose()

    asyncio.run(run())
    assert server.connections == 2


def test_a_request_that_runs_when_the_model_is_closed_gets_its_answer(serve: Serve) -> None:
    arrived, closed = threading.Event(), threading.Event()

    def behave(exchange: Exchange) -> bool:
        if len(server.exchanges) == 1:
            arrived.set()
            assert closed.wait(10)
        exchange.say()
        exchange.wait()  # ends when the client closes
        gone.set()
        return False

    gone = threading.Event()
    server = serve(behave)
    model = model_of(server)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(model.chat, HELLO)
        assert arrived.wait(10)
        model.close()
        closed.set()
        assert answer.result(10).message.text == "hi"
    assert gone.wait(5)


def test_connections_of_a_parent_process_are_not_used(serve: Serve) -> None:
    server = serve(echo)
    with model_of(server) as model:
        model.chat(HELLO)
        transport = model._sync
        kept = transport._kept
        assert kept is not None
        kept.process -= 1  # what a child process finds
        model.chat(HELLO)
        assert [connection.is_closed() for connection in kept._pool.connections] == [True]
    assert server.connections == 2


# ----------------------------------------------------------------------------- TLS and proxies
@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl command")
    folder = tmp_path_factory.mktemp("tls")
    key, file = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(file)),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return file, key


@pytest.fixture
def tls(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


def test_tls(
    serve: Serve,
    way: Way,
    tls: ssl.SSLContext,
    certificate: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    server = serve(echo, tls=tls)
    answers = way.ask(model_of(server), *[HELLO] * 3)
    assert [type(answer) for answer in answers] == [ChatResponse] * 3
    assert server.connections == 1


def test_tls_in_one_event_loop_after_another(
    serve: Serve, tls: ssl.SSLContext, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    model = model_of(serve(echo, tls=tls))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert asyncio.run(model.achat(HELLO)).message.text == "hello"
        gc.collect()
    assert [str(warning.message) for warning in caught] == []


def test_a_certificate_that_nobody_vouches_for(serve: Serve, way: Way, tls: ssl.SSLContext) -> None:
    server = serve(echo, tls=tls)
    error = way.error(model_of(server))
    assert type(error) is ModelConnectionError
    assert "certificate" in str(error)
    assert not server.exchanges


def test_the_proxy_of_the_environment(serve: Serve, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve(echo)
    monkeypatch.setenv("http_proxy", f"http://user:p%40ss@127.0.0.1:{proxy.port}")
    assert way.text(model_of("http://model.invalid:8080/v1")) == "hello"
    head = proxy.exchanges[0].head
    assert head.startswith("POST http://model.invalid:8080/v1/chat/completions HTTP/1.1\r\n")
    assert "Proxy-Authorization: Basic dXNlcjpwQHNz" in head.split("\r\n")
    assert "Host: model.invalid:8080" in head.split("\r\n")


def test_hosts_that_need_no_proxy(serve: Serve, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(echo)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert way.text(model_of(server)) == "hello"


def test_a_tunnel_through_a_proxy(
    serve: Serve,
    way: Way,
    tls: ssl.SSLContext,
    certificate: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def connect(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with tls.wrap_socket(exchange.socket, server_side=True) as inner:
            server._answer(inner)

    server = serve(echo)
    proxy = serve(connect)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    monkeypatch.setenv("https_proxy", f"http://user:pass@127.0.0.1:{proxy.port}")
    answers = way.ask(model_of("https://localhost:4433/v1"), HELLO, HELLO)
    assert [type(answer) for answer in answers] == [ChatResponse] * 2
    [exchange] = proxy.exchanges
    assert exchange.head.startswith("CONNECT localhost:4433 HTTP/1.1\r\n")
    assert "Proxy-Authorization: Basic dXNlcjpwYXNz" in exchange.head
    assert KEY not in exchange.head


def test_a_tunnel_to_a_server_without_tls(serve: Serve, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        exchange.socket.recv(1)
        exchange.send(b"220 smtp.example.com ESMTP\r\n")

    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{serve(connect).port}")
    model = model_of("https://localhost:4433/v1")
    answers = way.ask(model, HELLO, HELLO)
    assert [type(answer) for answer in answers] == [ModelConnectionError] * 2
    assert all("cannot be reached" in str(answer) for answer in answers)
    assert model._sync._kept is None or not model._sync._kept._pool.connections


def test_a_proxy_that_refuses(serve: Serve, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(exchange: Exchange) -> None:
        exchange.answer("", "407 Proxy Authentication Required")

    monkeypatch.setenv("https_proxy", f"127.0.0.1:{serve(refuse).port}")
    error = way.error(model_of("https://model.invalid/v1"))
    assert type(error) is ModelConnectionError
    assert "407" in str(error)


# ------------------------------------------------------------------------------------ options
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"model": ""}, "name of a model"),
        ({"model": None}, "name of a model"),
        ({"base_url": "localhost:8080/v1"}, "base_url"),
        ({"base_url": "ftp://x/v1"}, "base_url"),
        ({"base_url": "http://"}, "base_url"),
        ({"base_url": "http://x:99999/v1"}, "base_url"),
        ({"base_url": "http://x y/v1"}, "base_url"),
        ({"base_url": "http://x/v1\r\nA: b"}, "base_url"),
        ({"base_url": f"http://user:{KEY}@x/v1"}, "api_key"),
        ({"base_url": 3}, "base_url"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": -1.0}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"timeout": float("inf")}, "timeout"),
        ({"timeout": None}, "timeout"),
        ({"connect_timeout": True}, "connect_timeout"),
        ({"headers": {"X-A": "b\r\nX-C: d"}}, "X-A"),
        ({"headers": {"X-A": f"{KEY}\n"}}, "X-A"),
        ({"headers": {"X-A": "b "}}, "X-A"),
        ({"headers": {"X-A": 3}}, "X-A"),
        ({"headers": {"X A": "b"}}, "X A"),
        ({"headers": {"Content-Length": "3"}}, "Content-Length"),
        ({"api_key": f"{KEY}\nX: y"}, "api_key"),
        ({"api_key": "ключ"}, "api_key"),
        ({"parameters": {"stream": True}}, "stream"),
        ({"parameters": {"messages": []}}, "messages"),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says) as caught:
        OpenAIChatModel(**{"model": "m", "base_url": "http://127.0.0.1:1/v1"} | options)
    assert_presentable(caught.value)


@pytest.mark.parametrize("address", ["socks5://127.0.0.1:1", "http://", "http://127.0.0.1:99999"])
def test_a_proxy_that_is_not_understood(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("https_proxy", address)
    with pytest.raises(ConfigurationError, match="proxy for https"):
        OpenAIChatModel("m")


def test_nothing_shows_the_key() -> None:
    model = OpenAIChatModel("m", base_url=f"https://x/v1?key={KEY}", api_key=KEY, headers={"X-Api-Key": KEY})
    assert repr(model) == "OpenAIChatModel('m', base_url='https://x/v1')"
    assert KEY not in repr(model._endpoint)


@pytest.mark.parametrize("package", ["httpcore", "aiohttp"])
def test_each_way_needs_its_own_package_only(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    model = model_of(serve(echo))
    with_package, without = Way("sync"), Way("async")
    if package == "httpcore":
        with_package, without = without, with_package
    assert with_package.text(model) == "hello"
    with pytest.raises(MissingExtraError, match=rf"{package}.*fasttool\[http\]"):
        without.text(model)


def test_an_answer_that_is_nested_too_deep(serve: Serve, way: Way) -> None:
    def behave(exchange: Exchange) -> bool:
        exchange.answer(b'{"error":' * 900 + b"1" + b"}" * 900, "500 Oops")
        return True

    assert isinstance(way.error(model_of(serve(behave))), ModelServerError)


def test_parameters_that_cannot_be_sent_fail_before_the_connection(serve: Serve, way: Way) -> None:
    server = serve(echo)
    with pytest.raises(ConfigurationError):
        way.ask(model_of(server), ChatRequest([UserMessage("hi")], parameters={"x": object()}))
    assert server.connections == 0
