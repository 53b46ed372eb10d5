"""What a failed request means: the error of each kind, and what the server said, in one line."""

from __future__ import annotations

import email.utils
import math
import os
import time
from collections.abc import Mapping
from typing import Any

from fasttool.errors import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelRateLimitError,
    ModelRequestError,
    ModelResponseError,
    ModelServerError,
    ModelTimeoutError,
)
from fasttool.json_text import JsonTextError, decode, encode
from fasttool.models.http.endpoint import Endpoint, Reply


# ---------------------------------------------------------------------------- no whole answer
def unreachable(endpoint: Endpoint, error: BaseException) -> ModelError:
    """Return the error for a connection that was not made."""
    cause = _cause(endpoint, error)
    return ModelConnectionError(f"The model's server {endpoint.label} cannot be reached: {cause}.")


def refused_by_proxy(endpoint: Endpoint, status: int | str) -> ModelError:
    """Return the error for a proxy that opens no tunnel."""
    return ModelConnectionError(
        f"The model's server {endpoint.label} cannot be reached: the proxy answered {status}."
    )


def cut(endpoint: Endpoint, error: BaseException) -> ModelError:
    """Return the error for a connection that ended too early."""
    cause = _cause(endpoint, error)
    return ModelConnectionError(
        f"The model's server {endpoint.label} ended the connection before its answer was complete: {cause}."
    )


def connecting_timed_out(endpoint: Endpoint) -> ModelError:
    """Return the error for a server that takes no connection."""
    seconds = min(endpoint.connect_timeout, endpoint.timeout)
    return ModelTimeoutError(f"The model's server {endpoint.label} took no connection within {seconds:g} s.")


def stalled(endpoint: Endpoint) -> ModelError:
    """Return the error for a stream that has gone silent."""
    return ModelTimeoutError(
        f"The model's server {endpoint.label} sent nothing more of its answer for {endpoint.timeout:g} s."
    )


def timed_out(endpoint: Endpoint) -> ModelError:
    """Return the error for an answer that takes too long."""
    return ModelTimeoutError(
        f"The model's server {endpoint.label} gave no complete answer within {endpoint.timeout:g} s."
    )


def not_http(endpoint: Endpoint, reason: str) -> ModelError:
    """Return the error for an answer that no HTTP parser reads."""
    said = excerpt(endpoint.without_secrets(reason)).rstrip(".")
    return ModelResponseError(f"The model's server {endpoint.label} does not answer in HTTP: {said}.")


def too_large(endpoint: Endpoint) -> ModelError:
    """Return the error for a body beyond the limit."""
    return ModelResponseError(
        f"The answer of the model's server {endpoint.label} is larger than the limit, "
        f"{endpoint.body_limit:,} bytes."
    )


def _cause(endpoint: Endpoint, error: BaseException) -> str:
    """Return what an error says, shortest form first; httpcore and aiohttp wrap that of the system."""
    inner = getattr(error, "os_error", None) or next(
        (argument for argument in error.args if isinstance(argument, OSError)), error
    )
    text = getattr(inner, "verify_message", None) or getattr(inner, "strerror", None) or str(inner)
    if isinstance(inner, ConnectionError) and inner.errno:
        text = os.strerror(inner.errno)  # asyncio puts an address in its place
    return excerpt(endpoint.without_secrets(str(text))).rstrip(".") or type(error).__name__


# ------------------------------------------------------------------------- a status of failure
def check_reply(reply: Reply, endpoint: Endpoint) -> Reply:
    """Return a reply whose status is one of success.

    Raises:
        ModelError: of the kind that fits its status.
    """
    status = reply.status
    what = f"The model's server {endpoint.label}"
    if 200 <= status < 300:
        coding = reply.headers.get("content-encoding")
        if coding is None or coding.lower() == "identity":
            return reply
        raise ModelResponseError(
            f"{what} sent its answer compressed ({excerpt(coding, 40)}), which was not asked for.",
            status=status,
        )
    said = _said(reply, endpoint)
    tail = f": {said}" if said else "."
    if status in (401, 403):
        raise ModelAuthenticationError(f"{what} refused the credentials ({status}){tail}", status=status)
    if status == 429:
        seconds = retry_after(reply.headers)
        wait = "" if seconds is None else f", again in {seconds:g} s"
        raise ModelRateLimitError(
            f"{what} asks to slow down (429{wait}){tail}", status=status, retry_after=seconds
        )
    if status >= 500:
        raise ModelServerError(f"{what} failed ({status}){tail}", status=status)
    if 300 <= status < 400:
        to = excerpt(endpoint.without_secrets(reply.headers.get("location") or "nowhere"))
        raise ModelRequestError(
            f"{what} redirects ({status}) to {to}; this is not followed, so change base_url.", status=status
        )
    raise ModelRequestError(f"{what} refused the request ({status}){tail}", status=status)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait, None where it does not say or says nonsense."""
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = (headers.get(name) or "").strip()
        try:
            seconds = float(text) * factor
        except ValueError:
            continue
        return seconds if 0 <= seconds < math.inf else None
    moment = email.utils.parsedate_tz(text)
    if moment is None:
        return None
    try:
        return max(0.0, email.utils.mktime_tz(moment) - time.time())
    except (ValueError, OverflowError):
        return None


# --------------------------------------------------------------------- an error within a stream
_WORDS: tuple[tuple[type[ModelError], tuple[str, ...]], ...] = (
    (ModelRateLimitError, ("ratelimit", "quota", "toomany", "exhausted", "throttl")),
    (ModelAuthenticationError, ("authent", "apikey", "permission", "unauthorized", "forbidden")),
    (ModelServerError, ("server", "overload", "internal", "unavailable", "timeout", "upstream", "apierror")),
    (ModelRequestError, ("invalid", "badrequest", "notfound", "contextlength", "unsupported")),
)
_LABELS = ("status", "status_code", "code", "type")


def error_told(reply: Any) -> ModelError:
    """Return the error for one that is told in the middle of an answer.

    Its kind is that of the status that it names (``code``, ``status``), else that of the words in its
    ``code`` and ``type``.

    Args:
        reply: what tells it, as JSON; a choice of it may.
    """
    holder = reply
    if isinstance(reply, dict) and not reply.get("error"):
        choices = reply.get("choices")
        holder = next((c for c in choices or () if isinstance(c, dict) and c.get("error")), reply)
    try:
        said = error_text(holder) or excerpt(json_of(holder), 300)
    except ModelResponseError as error:
        return error
    inner = holder.get("error") if isinstance(holder, dict) else None
    parts = [part for part in (inner, holder) if isinstance(part, dict)]
    labels = [part[label] for part in parts for label in _LABELS if label in part]
    status = next((found for label in labels if (found := _status(label)) is not None), None)
    text = f"The model's stream tells an error{'' if status is None else f' ({status})'}: {said}"
    if status is not None:
        kind = _kind_of_status(status)
    else:
        texts = (label.lower() for label in labels if isinstance(label, str))
        words = ["".join(filter(str.isalpha, text)) for text in texts]
        kind = next(
            (kind for kind, marks in _WORDS if any(mark in word for word in words for mark in marks)),
            ModelResponseError,
        )
    return kind(text, status=status)


def _status(label: Any) -> int | None:
    if isinstance(label, str) and label.isdecimal() and len(label) == 3:
        label = int(label)
    return label if type(label) is int and 400 <= label < 600 else None


def _kind_of_status(status: int) -> type[ModelError]:
    if status in (401, 403):
        return ModelAuthenticationError
    if status == 429:
        return ModelRateLimitError
    return ModelServerError if status >= 500 else ModelRequestError


# ------------------------------------------------------------------------ what the server said
def _said(reply: Reply, endpoint: Endpoint) -> str:
    body = endpoint.without_secrets(reply.body)
    try:
        said = error_text(decode(body))
    except (JsonTextError, ModelResponseError):
        said = None
    return said or excerpt(body, 300)


def error_text(reply: Any, _depth: int = 8) -> str | None:
    """Return what the JSON of a reply says of an error, None if it says nothing.

    Understood are ``error.message``, ``error``, ``message`` and ``detail``, as text or in a list.

    Raises:
        ModelResponseError: the error is nested too deep.
    """
    if isinstance(reply, list):
        reply = reply[0] if reply else None
    if isinstance(reply, str):
        return excerpt(reply, 300) or None
    if not isinstance(reply, dict) or not _depth:
        return None
    for key in ("error", "message", "detail", "msg"):
        if said := error_text(reply.get(key), _depth - 1):
            return said
    return excerpt(json_of(reply["error"]), 300) if reply.get("error") else None


def json_of(value: Any) -> str:
    """Return the JSON text of a part of a reply.

    Raises:
        ModelResponseError: it was read at a depth at which nothing is written.
    """
    try:
        return encode(value).decode()
    except JsonTextError:
        raise ModelResponseError("The model's reply is nested too deep.") from None


def excerpt(text: str | bytes, limit: int = 200) -> str:
    """Return the start of a text on one line, without control characters.

    Args:
        text: bytes are read as UTF-8.
        limit: characters to keep.
    """
    if isinstance(text, bytes):
        text = text[: 8 * limit].decode(errors="replace")
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 8 * limit]).split())
    return line if len(line) <= limit else line[:limit] + "…"
