"""Requests on the running event loop, over aiohttp."""

from __future__ import annotations

import io
import threading
import weakref
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from fasttool.errors import MissingExtraError
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
    import asyncio
    from types import SimpleNamespace

    import aiohttp


class AsyncTransport:
    """Requests on the running event loop, over keep-alive connections that belong to that loop.

    Each loop gets a session, closed by ``aclose()``, by the loop's own end (``asyncio.run`` and every
    runner that calls ``shutdown_asyncgens``), or when the transport is dropped.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._sessions: dict[asyncio.AbstractEventLoop, _LoopSession] = {}
        self._lock = threading.Lock()
        # Holds the sessions until they are closed, so that the collector never meets an open one.
        weakref.finalize(self, _abandon, self._sessions).atexit = False

    async def post(self, body: bytes) -> Reply:
        """Send a body and return the answer.

        Raises:
            MissingExtraError: aiohttp is not installed.
            ModelError: no answer arrived, or its status is not one of success.
        """
        import asyncio

        try:
            import aiohttp
        except ImportError:
            raise MissingExtraError(
                "An asynchronous call of a chat model", extra="http", package="aiohttp"
            ) from None
        endpoint = self.endpoint
        session = await self._session()
        try:
            async with asyncio.timeout(endpoint.timeout):
                reply = await session.post(body)
        except aiohttp.ServerTimeoutError as error:
            raise connecting_timed_out(endpoint) from error
        except TimeoutError as error:
            raise timed_out(endpoint) from error
        except aiohttp.ClientConnectorError as error:
            raise unreachable(endpoint, error) from error
        except aiohttp.ClientHttpProxyError as error:
            refusal = refused_by_proxy(endpoint, error.status)
        except aiohttp.ClientResponseError as error:  # of the parser: a status is no error here
            refusal = not_http(endpoint, error.message)
        except (aiohttp.ClientError, OSError) as error:
            raise cut(endpoint, error) from error
        else:
            return check_reply(reply, endpoint)
        raise refusal  # without its cause, which holds the request with its key

    async def aclose(self) -> None:
        """Close the connections of the running loop, and have those of other loops closed there."""
        import asyncio

        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.aclose()
        self.close()

    def close(self) -> None:
        """Have all connections closed, each on its own loop."""
        _abandon(self._sessions)

    async def _session(self) -> _LoopSession:
        import asyncio

        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            with self._lock:
                closed = {
                    other: self._sessions.pop(other) for other in list(self._sessions) if other.is_closed()
                }
                session = self._sessions[loop] = _LoopSession(self.endpoint, self._sessions, loop)
            _abandon(closed)
            await anext(session.lifetime)  # the loop knows an asynchronous generator from its first step
        return session


class _LoopSession:
    """The aiohttp session of one event loop."""

    def __init__(
        self,
        endpoint: Endpoint,
        sessions: dict[asyncio.AbstractEventLoop, _LoopSession],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        from yarl import URL

        self._endpoint = endpoint
        self._url = URL(endpoint.url, encoded=True)
        self._proxy = endpoint.proxy and URL(endpoint.proxy.geturl())
        self._pooled = self._open(keepalive_timeout=IDLE_SECONDS)
        self.lifetime = self._live(sessions, loop)

    async def _live(
        self, sessions: dict[asyncio.AbstractEventLoop, _LoopSession], loop: asyncio.AbstractEventLoop
    ) -> AsyncGenerator[None]:
        # A loop that ends closes the asynchronous generators that it has seen: the only notice it gives.
        try:
            yield
        finally:
            if sessions.get(loop) is self:
                del sessions[loop]
            await self._pooled.close()

    async def aclose(self) -> None:
        await self.lifetime.aclose()

    def _open(self, **pool: Any) -> aiohttp.ClientSession:
        import aiohttp

        if self._endpoint.is_tls:
            pool["ssl"] = self._endpoint.tls()
        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(_note_reuse)
        return aiohttp.ClientSession(
            # No limit of connections: how many conversations run at once is the application's to say.
            connector=aiohttp.TCPConnector(limit=0, **pool),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._endpoint.headers,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._endpoint.connect_timeout),
            auto_decompress=False,
            trace_configs=[trace],
        )

    async def post(self, body: bytes) -> Reply:
        import aiohttp

        reused: list[bool] = []
        try:
            return await self._exchange(self._pooled, body, reused)
        except aiohttp.ServerDisconnectedError as error:
            # Its message is the head of the answer where some of one had arrived.
            if not reused or self._pooled.closed or not isinstance(error.message, str):
                raise
        except (aiohttp.ClientOSError, ConnectionResetError) as error:
            if not reused or self._pooled.closed or not isinstance(error.__cause__ or error, ConnectionError):
                raise
        # The server closed a connection just when it was used again: once more, on a new one.
        async with self._open(force_close=True) as fresh:
            return await self._exchange(fresh, body, reused)

    async def _exchange(self, session: aiohttp.ClientSession, body: bytes, reused: list[bool]) -> Reply:
        limit = self._endpoint.body_limit
        # aiohttp warns of a large body in one piece, and takes it from a file.
        data: Any = body if len(body) < 2**20 else io.BytesIO(body)
        async with session.post(
            self._url, data=data, proxy=self._proxy, allow_redirects=False, trace_request_ctx=reused
        ) as response:
            if (response.content_length or 0) > limit:
                raise too_large(self._endpoint)
            pieces = []
            size = 0
            while piece := await response.content.readany():
                size += len(piece)
                if size > limit:
                    raise too_large(self._endpoint)
                pieces.append(piece)
            return Reply(response.status, response.headers, b"".join(pieces))


async def _note_reuse(session: object, context: SimpleNamespace, parameters: object) -> None:
    context.trace_request_ctx.append(True)


def _abandon(sessions: dict[asyncio.AbstractEventLoop, _LoopSession]) -> None:
    """Have sessions closed by their loops, from any thread."""
    while sessions:
        loop, session = sessions.popitem()
        try:
            loop.call_soon_threadsafe(_start_closing, loop, session)
        except RuntimeError:  # the loop is closed: nothing in aiohttp waits any more, one step is all
            closing = session.aclose()
            try:
                closing.send(None)
            except StopIteration:
                continue
            closing.close()


_closing: set[asyncio.Task[None]] = set()  # a loop holds its tasks weakly


def _start_closing(loop: asyncio.AbstractEventLoop, session: _LoopSession) -> None:
    task = loop.create_task(session.aclose())
    _closing.add(task)
    task.add_done_callback(_closing.discard)
