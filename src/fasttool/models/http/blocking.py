"""Blocking requests, over httpcore."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from fasttool.errors import MissingExtraError, ModelError
from fasttool.models.http.endpoint import DRAIN_SECONDS, IDLE_SECONDS, Endpoint, Reply
from fasttool.models.http.failures import (
    check_reply,
    connecting_timed_out,
    cut,
    not_http,
    refused_by_proxy,
    stalled,
    timed_out,
    too_large,
    unreachable,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpcore

    from fasttool.models.http.network import Exchange

Outcome = TypeVar("Outcome")


class SyncTransport:
    """Blocking requests over pooled keep-alive connections; safe to use from many threads.

    A server that sends more than its answer spoils the next one on that connection: httpcore takes
    what it has read too much for its start.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._kept: _Connections | None = None

    def post(self, body: bytes) -> Reply:
        """Send a body and return the answer.

        Raises:
            MissingExtraError: httpcore is not installed.
            ModelError: no answer arrived, or its status is not one of success.
        """
        exchange = _exchange(self.endpoint)
        reply = _attempt(
            exchange,
            self.endpoint,
            lambda: self._send(exchange, lambda connections: connections.post(body)),
            timed_out,
        )
        return check_reply(reply, self.endpoint)

    def open(self, body: bytes) -> SyncStream:
        """Send a body and return the answer, to be read as it comes.

        Raises:
            MissingExtraError: httpcore is not installed.
            ModelError: no answer began, or its status is not one of success.
        """
        exchange = _exchange(self.endpoint)
        stream = _attempt(
            exchange,
            self.endpoint,
            lambda: self._send(exchange, lambda connections: SyncStream(connections, exchange, body)),
            timed_out,
        )
        try:
            stream.check()
        except BaseException:
            stream.close()
            raise
        return stream

    def close(self) -> None:
        """Close the connections, one that is in use after its request; a later request opens new ones."""
        self._kept = None

    def _send(self, exchange: Exchange, send: Callable[[_Connections], Outcome]) -> Outcome:
        import httpcore

        if self._kept is not None and self._kept.process != os.getpid():
            self._kept.close()  # a fork must not share its parent's connections
            self._kept = None
        timeouts = (TimeoutError, httpcore.TimeoutException)
        connections = self._kept = self._kept or _Connections(self.endpoint)
        try:
            return send(connections)
        except (OSError, httpcore.NetworkError, httpcore.RemoteProtocolError, *timeouts) as error:
            if exchange.is_connecting and self.endpoint.proxy is not None:
                self._kept = None  # httpcore never forgets a tunnel whose TLS failed
            if not exchange.is_stale or isinstance(error, timeouts):
                raise
        finally:
            del connections  # the traceback of an error would hold it
        # The server closed a connection just when it was used again: once more, on a new one.
        fresh = _Connections(self.endpoint)
        try:
            return send(fresh)
        except BaseException:
            fresh.close()  # its traceback would hold them open
            raise


class SyncStream:
    """An answer that is read as it comes; in one thread at a time.

    Args:
        connections: where it comes from; kept open until it is closed.
        exchange: the request.
        body: what is sent.

    Attributes:
        status: its HTTP status.
    """

    def __init__(self, connections: _Connections, exchange: Exchange, body: bytes) -> None:
        self._connections: _Connections | None = connections
        self._exchange = exchange
        self._endpoint = connections.endpoint
        self._closing = ExitStack()
        response = self._closing.enter_context(connections.stream(body))
        self.status: int = response.status
        self._headers = _headers(response)
        self._pieces: Iterator[bytes] = iter(response.iter_stream())

    def check(self) -> None:
        """Read the answer whole, where its status is not one of success, and raise what it says.

        Raises:
            ModelError: of the kind that fits the status.
        """
        body = b""
        if not 200 <= self.status < 300:
            limit = self._endpoint.body_limit

            def read() -> bytes:
                return _joined(self._pieces, self._headers, self._endpoint, limit)

            body = _attempt(self._exchange, self._endpoint, read, timed_out)
        check_reply(Reply(self.status, self._headers, body), self._endpoint)

    def read(self) -> bytes:
        """Return the next bytes, as many as have come; none at the end of the answer.

        Raises:
            ModelError: it was cut, or nothing came in time.
        """
        self._exchange.allow(self._endpoint.timeout)
        return _attempt(self._exchange, self._endpoint, self._next, stalled)

    def drain(self) -> None:
        """Read to the end, if that comes soon: then the connection can be used again."""
        self._exchange.allow(DRAIN_SECONDS)
        try:
            while _attempt(self._exchange, self._endpoint, self._next, stalled):
                continue
        except ModelError:
            self.close()  # the answer is whole, whatever becomes of the connection

    def close(self) -> None:
        """Give the connection back, or close it where the answer has not ended."""
        self._closing.close()
        self._connections = None

    def _next(self) -> bytes:
        return next(self._pieces, b"")


def _exchange(endpoint: Endpoint) -> Exchange:
    try:
        import httpcore  # noqa: F401
    except ImportError:
        raise MissingExtraError("A blocking call of a chat model", extra="http", package="httpcore") from None
    from fasttool.models.http.network import Exchange

    return Exchange(endpoint)


def _attempt(
    exchange: Exchange,
    endpoint: Endpoint,
    run: Callable[[], Outcome],
    late: Callable[[Endpoint], ModelError],
) -> Outcome:
    """Do something on the network.

    Args:
        exchange: the request that it belongs to.
        endpoint: where that goes.
        run: what is done.
        late: makes the error for what was not done in time.

    Raises:
        ModelError: it failed.
    """
    import httpcore

    with exchange:
        try:
            return run()
        except (TimeoutError, httpcore.TimeoutException) as error:
            raise (connecting_timed_out if exchange.is_connecting else late)(endpoint) from error
        except httpcore.ProxyError as error:
            raise refused_by_proxy(endpoint, str(error).partition(" ")[0]) from None
        except (OSError, httpcore.NetworkError) as error:
            raise (unreachable if exchange.is_connecting else cut)(endpoint, error) from error
        except httpcore.ProtocolError as error:
            refusal = _protocol_failure(exchange, endpoint, error)
    raise refusal  # without its cause, which quotes what the server sent


def _headers(response: httpcore.Response) -> dict[str, str]:
    return {name.lower().decode(): value.decode("latin-1") for name, value in response.headers}


def _joined(pieces: Iterator[bytes], headers: Mapping[str, str], endpoint: Endpoint, limit: int) -> bytes:
    """Return a body.

    Raises:
        ModelResponseError: it is larger than the limit.
    """
    if int(headers.get("content-length", 0)) > limit:
        raise too_large(endpoint)
    found = []
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > limit:
            raise too_large(endpoint)
        found.append(piece)
    return b"".join(found)


class _Connections:
    """A pool of httpcore, closed at the latest when nobody holds this any more."""

    def __init__(self, endpoint: Endpoint) -> None:
        import httpcore

        self.process = os.getpid()
        self.endpoint = endpoint
        self._url = httpcore.URL(
            scheme="https" if endpoint.is_tls else "http",
            host=endpoint.host,
            port=endpoint.port,
            target=endpoint.target,
        )
        headers = dict(endpoint.headers)
        if "host" not in {name.lower() for name in headers}:
            headers = {"Host": endpoint.authority} | headers
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._pool = _open_pool(endpoint)
        self.close = weakref.finalize(self, _close_pool, self._pool)

    def post(self, body: bytes) -> Reply:
        with self.stream(body) as response:
            headers = _headers(response)
            limit = self.endpoint.body_limit
            return Reply(
                response.status, headers, _joined(response.iter_stream(), headers, self.endpoint, limit)
            )

    def stream(self, body: bytes) -> AbstractContextManager[httpcore.Response]:
        """Send a body, and return the context of the answer."""
        return self._pool.stream(b"POST", self._url, headers=self._headers, content=body)


def _open_pool(endpoint: Endpoint) -> httpcore.ConnectionPool:
    import httpcore

    from fasttool.models.http.network import DeadlineBackend

    tls = endpoint.tls() if endpoint.is_tls else None
    backend = DeadlineBackend(is_tls=endpoint.is_tls)
    proxy = endpoint.proxy
    # No limit of connections: how many conversations run at once is the application's to say.
    if proxy is None:
        return httpcore.ConnectionPool(
            tls, max_connections=None, keepalive_expiry=IDLE_SECONDS, network_backend=backend
        )
    credentials = None
    if proxy.username is not None:
        credentials = unquote(proxy.username).encode(), unquote(proxy.password or "").encode()
    return httpcore.HTTPProxy(
        httpcore.URL(scheme="http", host=proxy.hostname or "", port=proxy.port or 80, target="/"),
        credentials,
        ssl_context=tls,
        max_connections=None,
        keepalive_expiry=IDLE_SECONDS,
        network_backend=backend,
    )


def _close_pool(pool: httpcore.ConnectionPool) -> None:
    # Not pool.close(): it takes a lock that a fork may have left locked for ever.
    for connection in pool.connections:
        connection.close()


def _protocol_failure(exchange: Exchange, endpoint: Endpoint, error: Exception) -> ModelError:
    if exchange.is_connecting:
        return unreachable(endpoint, error)
    if exchange.has_ended:
        return cut(endpoint, error)
    return not_http(endpoint, str(error))
