"""A stream of OpenAI Chat Completions, read leniently: servers differ; no I/O.

What has come is put together as the message that the same answer has in one piece, and read by the same
functions, so both ways of asking give equal responses.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson

from fasttool import json_text
from fasttool.errors import ModelConnectionError, ModelError, ModelResponseError
from fasttool.messages import ChatResponse
from fasttool.models.http.failures import error_told, excerpt, json_of
from fasttool.models.openai_response import decode_response, decode_text, finish_reason, read_reply
from fasttool.models.openai_stream_calls import CallAssembler
from fasttool.models.openai_stream_fields import MessageFields
from fasttool.models.server_sent_events import EventReader
from fasttool.models.stream import (
    CUT_SHORT,
    ModelEvent,
    ReasoningDelta,
    ResponseComplete,
    TextDelta,
    complete_calls,
)
from fasttool.schema.tool_names import ToolNames

ANSWER_LIMIT = 64 * 2**20
"""Characters of an answer that are kept at most."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HEAD = 16 * 2**10  # bytes that are kept for the error about what is no stream of events
_MESSAGE = (b"", b"message", b"error")  # names of events that are not skipped
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")  # how the first line of a stream of events begins


class StreamDecoder:
    """Turns the bytes of a streamed answer into events.

    However the bytes are cut, the events are the same. The first failure ends the stream: events before
    it are returned, and ``failure`` is what to raise then.

    Args:
        names: what ``tool_names`` returned for the request; None leaves the names as they come.
        without_secrets: takes from a text what no error may show.

    Attributes:
        failure: what ended the stream; None while nothing did.
        is_complete: the answer is whole, and what still comes has no meaning.

    >>> decoder = StreamDecoder()
    >>> decoder.feed(b'data: {"choices": [{"delta": {"content": "Hel')
    []
    >>> decoder.feed(b'lo"}}]}\\n\\ndata: [DONE]\\n\\n')[0]
    TextDelta(text='Hello')
    """

    def __init__(
        self,
        names: ToolNames | None = None,
        *,
        without_secrets: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self.failure: ModelError | None = None
        self.is_complete = False
        self._names = names
        self._without_secrets = without_secrets or bytes
        self._reader = EventReader()
        self._head = b""
        self._body: list[bytes] | None = None  # of an answer in one piece
        self._is_stream = False  # true once it is known
        self._has_event = False
        self._has_choice = False
        self._texts: list[str] = []
        self._fields = MessageFields()
        self._calls = CallAssembler(names)
        self._size = 0
        self._id: str | None = None
        self._model: str | None = None
        self._usage: Any = None
        self._reason: Any = None

    def feed(self, data: bytes) -> list[ModelEvent]:
        """Take the next bytes, and return what they tell.

        Raises:
            ModelError: the stream had failed before.
        """
        if self.failure is not None:
            raise self.failure
        events: list[ModelEvent] = []
        if self.is_complete:
            return events
        try:
            if not self._has_event and self._is_in_one_piece(data):
                return events
            for name, payload in self._reader.feed(data):
                self._take(name, payload, events)
                if self.is_complete:
                    break
        except ModelError as error:
            self.failure = error
        return events

    def end(self) -> list[ModelEvent]:
        """Say that no more bytes come, and return what was still to tell.

        Raises:
            ModelConnectionError: the answer was not complete.
            ModelError: the stream had failed before, or what came is no answer.
        """
        if self.failure is not None:
            raise self.failure
        events: list[ModelEvent] = []
        if self.is_complete:
            return events
        try:
            if self._body is not None:
                self._end_in_one_piece(self._body, events)
                return events
            for name, payload in self._reader.end():
                if payload.strip() == b"[DONE]" or _is_json(payload):  # else it was cut
                    self._take(name, payload, events)
            if not self.is_complete:
                self._check_end()
                self._complete(events)
        except ModelError as error:
            self.failure = error
            raise
        return events

    # ------------------------------------------------------------------- an answer in one piece
    def _is_in_one_piece(self, data: bytes) -> bool:
        """Return whether the server answered as if no stream had been asked for, and keep the answer."""
        if self._body is None:
            if self._is_stream:
                self._head = (self._head + data[:_HEAD])[:_HEAD]
                return False
            self._head += data
            begun = self._head.removeprefix(_BYTE_ORDER_MARK).lstrip()
            if not begun.startswith(b"{"):
                self._is_stream = bool(begun) and not _BYTE_ORDER_MARK.startswith(begun)
                return False
            self._body = []
            data = self._head
        self._body.append(data)
        self._size += len(data)
        if self._size > ANSWER_LIMIT:
            raise _too_large()
        return True

    def _end_in_one_piece(self, body: list[bytes], events: list[ModelEvent]) -> None:
        text = b"".join(body)
        response: ChatResponse | None = None
        with suppress(ModelResponseError):
            response = decode_response(text, self._names)
        if response is None:  # not before: an error shows what it was raised in
            response = decode_response(self._without_secrets(text), self._names)
        if response.message.text:
            events.append(TextDelta(response.message.text))
        events += complete_calls(response)
        self._end_with(response, events)

    # ---------------------------------------------------------------------------------- events
    def _take(self, name: bytes, payload: bytes, events: list[ModelEvent]) -> None:
        try:
            chunk = orjson.loads(payload)
        except orjson.JSONDecodeError:
            found = self._odd(name, payload, events)
            if found is None:
                return
            chunk = found
        self._has_event = True
        if type(chunk) is not dict:
            if chunk is None:
                return
            raise ModelResponseError(
                f"An event of the model's stream is not a JSON object: {self._excerpt(payload)}"
            )
        if name == b"error" or chunk.get("error") or chunk.get("object") == "error":
            raise self._told(payload)
        if self._id is None and (value := chunk.get("id")) and isinstance(value, str):
            self._id = value
        if self._model is None and (value := chunk.get("model")) and isinstance(value, str):
            self._model = value
        if usage := chunk.get("usage"):
            self._usage = usage  # some say it in each event, as a running total
        choices = chunk.get("choices")
        if type(choices) is list:
            for choice in choices:
                if type(choice) is dict and choice.get("index") in (0, None, "0"):
                    self._choose(choice, payload, events)
        elif _tells_error(chunk):
            raise self._told(payload)

    def _choose(self, choice: dict[str, Any], payload: bytes, events: list[ModelEvent]) -> None:
        self._has_choice = True
        if choice.get("error"):
            raise self._told(payload)
        delta = choice.get("delta")
        if delta is None and not self._texts and not self._calls.calls:
            delta = choice.get("message")
        if type(delta) is dict:
            content = delta.get("content")
            if type(content) is str and len(delta) == 1 and content:  # nearly all events of an answer
                self._texts.append(content)
                self._size += len(content)
                events.append(TextDelta(content))
            else:
                self._read(delta, content, payload, events)
            if self._size + self._fields.size + self._calls.size > ANSWER_LIMIT:
                raise _too_large()
        if reason := choice.get("finish_reason"):
            self._reason = reason
            # The others wait for the end of the stream: some say a reason too early.
            self._calls.tell(events, before=len(self._calls.calls))
        if usage := choice.get("usage"):
            self._usage = usage

    def _read(self, delta: dict[str, Any], content: Any, payload: bytes, events: list[ModelEvent]) -> None:
        if thought := self._fields.add(delta):
            events.append(ReasoningDelta(thought))
        if text := content if type(content) is str else decode_text(content):
            self._texts.append(text)
            self._size += len(text)
            events.append(TextDelta(text))
        elif content is not None:
            self._fields.has_text = True
        if (said := self._fields.add_substitute(delta)) and not self._texts:
            events.append(TextDelta(said))
        entries = delta.get("tool_calls")
        if entries is None and delta.get("function_call"):
            entries = [{"index": 0, "function": delta["function_call"]}]  # the form before tool_calls
        if not entries:
            return
        if type(entries) is not list:
            raise ModelResponseError(
                f"tool_calls of the model's stream is not a list: {self._excerpt(payload)}"
            )
        if any(map(_has_object, entries)):
            # Integers beyond 64 bits keep their digits.
            entries = _exact_entries(payload) or entries
        events += self._calls.add(entries)

    def _odd(self, name: bytes, payload: bytes, events: list[ModelEvent]) -> Any:
        """Return the JSON of an event that orjson refuses, None for one that says nothing more."""
        text = payload.strip()
        if text == b"[DONE]":
            self._complete(events)
            return None
        if not text or name not in _MESSAGE:
            return None
        try:
            return json_text.decode_exactly(payload)
        except json_text.JsonTextError as error:
            said = self._excerpt(payload)
            if name == b"error":
                raise ModelResponseError(f"The model's stream tells an error: {said}") from None
            raise ModelResponseError(
                f"An event of the model's stream is not JSON ({error}): {said}"
            ) from None

    # --------------------------------------------------------------------------------- the end
    def _check_end(self) -> None:
        if self._reason is not None:
            return
        head = self._head.removeprefix(_BYTE_ORDER_MARK).strip()
        if not self._has_event and not any(head.startswith(f) or f.startswith(head) for f in _FIELDS):
            raise ModelResponseError(f"The model's reply is not a stream of events: {self._excerpt(head)}")
        raise ModelConnectionError("The model's stream ended before the answer was complete.")

    def _complete(self, events: list[ModelEvent]) -> None:
        reason = finish_reason(self._reason)
        # Where no reason is given, nobody knows whether a half call was meant so.
        self._calls.end(events, is_cut=reason is None or reason in CUT_SHORT)
        message = self._fields.message(self._texts, self._calls.entries())
        reply: dict[str, Any] = {
            "id": self._id,
            "model": self._model,
            "usage": self._usage,
            "choices": [{"message": message, "finish_reason": self._reason}] if self._has_choice else [],
        }
        response: ChatResponse | None = None
        with suppress(ModelResponseError):
            response = read_reply(reply, b"", self._names)
        if response is None:
            shown = self._without_secrets(json_of(reply).encode())
            response = read_reply(reply, shown, self._names)
        self._end_with(response, events)

    def _end_with(self, response: ChatResponse, events: list[ModelEvent]) -> None:
        events.append(ResponseComplete(response))
        self.is_complete = True

    def _told(self, payload: bytes) -> ModelError:
        try:
            return error_told(json_text.decode(self._without_secrets(payload)))
        except json_text.JsonTextError:
            return ModelResponseError(f"The model's stream tells an error: {self._excerpt(payload)}")

    def _excerpt(self, payload: bytes) -> str:
        return excerpt(self._without_secrets(payload))


def _too_large() -> ModelResponseError:
    return ModelResponseError(
        f"The answer of the model is larger than the limit, {ANSWER_LIMIT:,} characters."
    )


def _is_json(payload: bytes) -> bool:
    try:
        json_text.decode(payload)
    except json_text.JsonTextError:
        return False
    return True


def _tells_error(chunk: dict[str, Any]) -> bool:
    """Return whether an event without choices is an error in the words of a web framework."""
    return bool(chunk.get("detail") or (chunk.get("message") and ("code" in chunk or "status" in chunk)))


def _has_object(entry: Any) -> bool:
    function = entry.get("function") if isinstance(entry, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return arguments is not None and type(arguments) is not str


def _exact_entries(payload: bytes) -> Any:
    for choice in json_text.decode(payload)["choices"]:
        if isinstance(choice, dict) and choice.get("index") in (0, None, "0"):
            delta = choice.get("delta") or choice.get("message") or {}
            if entries := delta.get("tool_calls"):
                return entries
    return None
