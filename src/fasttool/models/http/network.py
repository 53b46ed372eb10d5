"""The network as httpcore sees it, with one deadline for every byte of a request."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterable
from typing import Any, Self

import httpcore

from fasttool.models.http.endpoint import Endpoint

_running = threading.local()


class Exchange:
    """A request on the network: how long it may take, and how far it came.

    httpcore does all the work of a request in its caller's thread, so what it calls here finds the
    exchange by the thread, while the ``with`` block of the exchange runs.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.is_connecting = False
        self.has_connected = False
        """A connection was opened for this request; else it runs on one that was kept alive."""
        self.has_received = False
        self.has_ended = False
        """The server closed its side."""
        self._endpoint = endpoint
        self._deadline = self._limit = time.monotonic() + endpoint.timeout

    def __enter__(self) -> Self:
        _running.exchange = self
        return self

    def __exit__(self, *error: object) -> None:
        del _running.exchange

    @property
    def is_stale(self) -> bool:
        """Whether its connection was kept alive, and nothing came back on it."""
        return not self.has_connected and not self.has_received

    def allow(self, seconds: float) -> None:
        """Begin anew to count, for the next piece of a stream."""
        self._deadline = self._limit = time.monotonic() + seconds

    def remaining(self) -> float:
        """Return the seconds that are left, above 0.

        Raises:
            TimeoutError: none are.
        """
        seconds = self._limit - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds

    def start_connecting(self) -> None:
        """Note that a connection is being opened, for which there is less time."""
        self.is_connecting = self.has_connected = True
        self.has_ended = False
        self._limit = min(self._deadline, time.monotonic() + self._endpoint.connect_timeout)

    def end_connecting(self) -> None:
        """Note that the connection is there, TLS included."""
        self.is_connecting = False
        self._limit = self._deadline


class DeadlineStream(httpcore.NetworkStream):
    """A connection; each of its waits ends with the exchange that runs on it."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream
        self._socket: socket.socket = stream.get_extra_info("socket")

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        exchange: Exchange = _running.exchange
        data = self._stream.read(max_bytes, exchange.remaining())
        if data:
            exchange.has_received = True
        else:
            exchange.has_ended = True
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # httpcore's own grants the whole timeout again to each part that the system takes.
        exchange: Exchange = _running.exchange
        rest = memoryview(buffer)
        while rest:
            self._socket.settimeout(exchange.remaining())
            try:
                count = self._socket.send(rest)
            except TimeoutError:
                raise
            except OSError as error:
                raise httpcore.WriteError(error) from error
            rest = rest[count:]

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        exchange: Exchange = _running.exchange
        try:
            stream = self._stream.start_tls(ssl_context, server_hostname, exchange.remaining())
        except BaseException:
            self.close()
            raise
        exchange.end_connecting()
        return DeadlineStream(stream)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class DeadlineBackend(httpcore.NetworkBackend):
    """Opens connections within the time of the exchange that needs them."""

    def __init__(self, *, is_tls: bool) -> None:
        self._is_tls = is_tls
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        exchange: Exchange = _running.exchange
        exchange.start_connecting()
        # The resolver has limits of its own; nothing here can shorten them.
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for position, (*_, address) in enumerate(addresses, 1):
            share = exchange.remaining() / (len(addresses) - position + 1)
            try:
                stream = self._backend.connect_tcp(
                    str(address[0]), port, share, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if position == len(addresses):
                    raise
            else:
                break
        if not self._is_tls:
            exchange.end_connecting()
        return DeadlineStream(stream)
