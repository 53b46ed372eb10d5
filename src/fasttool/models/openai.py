"""A chat model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import closing
from typing import Any

from fasttool.errors import ConfigurationError, ModelResponseError
from fasttool.messages import ChatRequest, ChatResponse
from fasttool.models.closing import Closing
from fasttool.models.http.blocking import SyncTransport
from fasttool.models.http.endpoint import Endpoint, Reply
from fasttool.models.http.nonblocking import AsyncTransport
from fasttool.models.openai_codec import check_parameters, decode_response, encode_request, tool_names
from fasttool.models.openai_stream import StreamDecoder
from fasttool.models.stream import ModelEvent
from fasttool.schema.tool_names import ToolNames

_SECRET_WORDS = ("auth", "key", "token", "secret", "cookie")


class OpenAIChatModel(Closing):
    """Calls Chat Completions of OpenAI or of any compatible server (llama.cpp, vLLM, Ollama, ...).

    One object serves any number of threads and event loops. Connections are kept alive; ``close()``
    and ``aclose()`` close them, and a later call opens new ones. An event loop that is closed by hand,
    without ``shutdown_asyncgens()``, wants ``aclose()`` before.

    Args:
        model: name of the model.
        base_url: address without ``/chat/completions``; by default the variable OPENAI_BASE_URL, else
            that of OpenAI.
        api_key: sent as a bearer token; by default the variable OPENAI_API_KEY; "" or neither sends none.
        headers: further headers; they win over our own.
        timeout: seconds for a whole request, connecting included; of a stream, for its beginning, and then
            from one piece to the next.
        connect_timeout: seconds to get a connection.
        parameters: parameters of every request in the provider's own words (temperature, ...); those of
            a request win over them.
        supports_response_format: the server takes ``response_format`` with a schema; a service asks one that
            does not in the user's message.

    Raises:
        ConfigurationError: an option cannot be used.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 120.0,
        connect_timeout: float = 10.0,
        parameters: Mapping[str, Any] | None = None,
        supports_response_format: bool = True,
    ) -> None:
        if not isinstance(model, str) or not model.strip():
            raise ConfigurationError(f"A chat model needs the name of a model, got {model!r}.")
        if base_url is None:
            base_url = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        if not isinstance(base_url, str):
            raise ConfigurationError(f"base_url must be text, got {type(base_url).__name__}.")
        if api_key is None:
            # A key read from a file or a shell often brings its newline.
            api_key = os.environ.get("OPENAI_API_KEY", "").strip()
        if not isinstance(api_key, str) or not api_key.isascii() or not api_key.isprintable():
            raise ConfigurationError("api_key must be one line of ASCII text.")
        own = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "fasttool",
        }
        if api_key:
            own["Authorization"] = f"Bearer {api_key}"
        given = dict(headers or {})
        replaced = {str(name).lower() for name in given}
        if not replaced.isdisjoint(("content-length", "transfer-encoding", "connection", "accept-encoding")):
            raise ConfigurationError(
                "headers must not set Content-Length, Transfer-Encoding, Connection or Accept-Encoding."
            )
        secrets = [api_key, *(v for n, v in given.items() if any(w in str(n).lower() for w in _SECRET_WORDS))]
        check_parameters(parameters or {})
        address, question, query = base_url.partition("?")
        endpoint = Endpoint(
            f"{address.rstrip('/')}/chat/completions{question}{query}",
            {name: value for name, value in own.items() if name.lower() not in replaced} | given,
            timeout=timeout,
            connect_timeout=connect_timeout,
            secrets=tuple(secret for secret in secrets if isinstance(secret, str)),
        )
        self.model = model
        self.supports_response_format = supports_response_format
        self.base_url = address
        self._parameters = dict(parameters or {})
        self._endpoint = endpoint
        self._sync = SyncTransport(endpoint)
        self._async = AsyncTransport(endpoint)

    def chat(self, request: ChatRequest) -> ChatResponse:
        """Answer, blocking.

        Raises:
            MissingExtraError: httpcore is not installed.
            ModelError: there is no usable answer.
        """
        names = tool_names(request)
        return self._decode(self._sync.post(self._encode(request, names)), names)

    async def achat(self, request: ChatRequest) -> ChatResponse:
        """Answer, without blocking the event loop.

        Raises:
            MissingExtraError: aiohttp is not installed.
            ModelError: there is no usable answer.
        """
        names = tool_names(request)
        return self._decode(await self._async.post(self._encode(request, names)), names)

    def stream(self, request: ChatRequest) -> Generator[ModelEvent, None, None]:
        """Answer piece by piece, blocking; closing the generator closes the connection.

        Nothing is sent before the first step, and nothing sent again once the answer has begun.

        Raises:
            MissingExtraError: httpcore is not installed.
            ModelError: there is no usable answer, or it ended before it was complete.
        """
        names = tool_names(request)
        body = self._encode(request, names, stream=True)
        decoder = StreamDecoder(names, without_secrets=self._endpoint.without_secrets)
        with closing(self._sync.open(body)) as answer:
            try:
                while piece := answer.read():
                    yield from decoder.feed(piece)
                    if decoder.failure is not None:
                        raise decoder.failure
                    if decoder.is_complete:
                        answer.drain()
                        return
                yield from decoder.end()
            except ModelResponseError as error:
                error.status = error.status or answer.status
                raise

    async def astream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        """Answer piece by piece, without blocking the event loop; see ``stream``.

        Raises:
            MissingExtraError: aiohttp is not installed.
            ModelError: there is no usable answer, or it ended before it was complete.
        """
        names = tool_names(request)
        body = self._encode(request, names, stream=True)
        decoder = StreamDecoder(names, without_secrets=self._endpoint.without_secrets)
        answer = await self._async.open(body)
        try:
            while piece := await answer.read():
                for event in decoder.feed(piece):
                    yield event
                if decoder.failure is not None:
                    raise decoder.failure
                if decoder.is_complete:
                    await answer.drain()
                    return
            for event in decoder.end():
                yield event
        except ModelResponseError as error:
            error.status = error.status or answer.status
            raise
        finally:
            await answer.aclose()

    def close(self) -> None:
        """Close all connections; those of an event loop close when it next runs."""
        self._sync.close()
        self._async.close()

    async def aclose(self) -> None:
        """Close all connections; those of other event loops close when they next run."""
        self._sync.close()
        await self._async.aclose()

    def _encode(self, request: ChatRequest, names: ToolNames, *, stream: bool = False) -> bytes:
        return encode_request(
            request, model=self.model, defaults=self._parameters, names=names, stream=stream
        )

    def _decode(self, reply: Reply, names: ToolNames) -> ChatResponse:
        try:
            return decode_response(reply.body, names)
        except ModelResponseError:
            body = self._endpoint.without_secrets(reply.body)
        try:
            return decode_response(body, names)
        except ModelResponseError as error:
            error.status = reply.status
            raise

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self.model!r}, base_url={self.base_url!r})"
