"""Blocking requests, over httpcore."""

from __future__ import annotations

import os
import weakref
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import unquote

from fasttool.errors import MissingExtraError, ModelError
from fasttool.models.http.endpoint import IDLE_SECONDS, Endpoint, Reply
from fasttool.models.http.failures import (
    check_reply,
    connecting_timed_out,
    cut,
    not_http,
    refused_by_proxy,
    timed_out,
    too_large,
    unreachable,
)

if TYPE_CHECKING:
    import httpcore

    from fasttool.models.http.network import Exchange


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
        try:
            import httpcore
        except ImportError:
            raise MissingExtraError(
                "A blocking call of a chat model", extra="http", package="httpcore"
            ) from None
        from fasttool.models.http.network import Exchange

        endpoint = self.endpoint
        with Exchange(endpoint) as exchange:
            try:
                reply = self._exchange(exchange, body)
            except (TimeoutError, httpcore.TimeoutException) as error:
                failure = connecting_timed_out if exchange.is_connecting else timed_out
                raise failure(endpoint) from error
            except httpcore.ProxyError as error:
                raise refused_by_proxy(endpoint, str(error).partition(" ")[0]) from None
            except (OSError, httpcore.NetworkError) as error:
                raise (unreachable if exchange.is_connecting else cut)(endpoint, error) from error
            except httpcore.ProtocolError as error:
                refusal = _protocol_failure(exchange, endpoint, error)
            else:
                return check_reply(reply, endpoint)
        raise refusal  # without its cause, which quotes what the server sent

    def close(self) -> None:
        """Close the connections, one that is in use after its request; a later request opens new ones."""
        self._kept = None

    def _exchange(self, exchange: Exchange, body: bytes) -> Reply:
        import httpcore

        if self._kept is not None and self._kept.process != os.getpid():
            self._kept.close()  # a fork must not share its parent's connections
            self._kept = None
        timeouts = (TimeoutError, httpcore.TimeoutException)
        connections = self._kept = self._kept or _Connections(self.endpoint)
        try:
            return connections.post(body)
        except (OSError, httpcore.NetworkError, httpcore.RemoteProtocolError, *timeouts) as error:
            if exchange.is_connecting and self.endpoint.proxy is not None:
                self._kept = None  # httpcore never forgets a tunnel whose TLS failed
            if not exchange.is_stale or isinstance(error, timeouts):
                raise
        finally:
            del connections  # the traceback of an error would hold it
        # The server closed a connection just when it was used again: once more, on a new one.
        with closing(_Connections(self.endpoint)) as fresh:
            return fresh.post(body)


class _Connections:
    """A pool of httpcore, closed at the latest when nobody holds this any more."""

    def __init__(self, endpoint: Endpoint) -> None:
        import httpcore

        self.process = os.getpid()
        self._endpoint = endpoint
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
        limit = self._endpoint.body_limit
        with self._pool.stream(b"POST", self._url, headers=self._headers, content=body) as response:
            headers = {name.lower().decode(): value.decode("latin-1") for name, value in response.headers}
            if int(headers.get("content-length", 0)) > limit:
                raise too_large(self._endpoint)
            pieces = []
            size = 0
            for piece in response.iter_stream():
                size += len(piece)
                if size > limit:
                    raise too_large(self._endpoint)
                pieces.append(piece)
            return Reply(response.status, headers, b"".join(pieces))


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
