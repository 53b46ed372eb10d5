"""Where requests go and what comes back: Endpoint, which checks its options, and Reply."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, cast
from urllib.parse import SplitResult, urlsplit

from fasttool.errors import ConfigurationError

if TYPE_CHECKING:
    import ssl

IDLE_SECONDS = 60.0
"""How long a connection is kept; longer, and a firewall on the way may have forgotten it."""


DRAIN_SECONDS = 0.25
"""How long the end of a stream is waited for once its answer is whole; later, its connection is not kept."""


class Reply(NamedTuple):
    """An answer, whatever its status; its headers are found by their names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Endpoint:
    """Where requests go, and the limits on waiting.

    Args:
        url: http or https address, without credentials.
        headers: sent with each request.
        timeout: seconds for a whole request; of a stream, up to its first bytes and then from piece to piece.
        connect_timeout: seconds to get a connection.
        secrets: texts that no error may show.

    Raises:
        ConfigurationError: one of them cannot be used, or the proxy that the environment names.
    """

    body_limit = 64 * 2**20
    """Bytes of an answer that are read at most."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        timeout: float = 120.0,
        connect_timeout: float = 10.0,
        secrets: tuple[str, ...] = (),
    ) -> None:
        _check_seconds("timeout", timeout)
        _check_seconds("connect_timeout", connect_timeout)
        for name, value in headers.items():
            _check_header(name, value)
        parts = _split(url)
        self.url = url
        self.headers = dict(headers)
        self.timeout = timeout
        self.connect_timeout = connect_timeout
        self.is_tls = parts.scheme == "https"
        self.host = cast(str, parts.hostname)
        self.port = parts.port or (443 if self.is_tls else 80)
        self.authority = parts.netloc
        self.label = f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
        self.proxy = _environment_proxy(parts.scheme, self.host, self.label)
        self.target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._secrets = [secret.encode() for secret in secrets if secret]
        self._tls: ssl.SSLContext | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self.label})"

    def tls(self) -> ssl.SSLContext:
        """Return the TLS settings, made at the first use: reading the certificates takes milliseconds."""
        if self._tls is None:
            import ssl

            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    def without_secrets(self, text: str | bytes) -> bytes:
        """Return a text with stars in place of each secret."""
        shown = text if isinstance(text, bytes) else text.encode(errors="replace")
        for secret in self._secrets:
            shown = shown.replace(secret, b"***")
        return shown


def _check_seconds(name: str, seconds: object) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < math.inf:
        raise ConfigurationError(f"{name} must be a number of seconds above 0, got {seconds!r}.")


def _check_header(name: object, value: object) -> None:
    if (
        not isinstance(name, str)
        or not name.isascii()
        or not name.replace("-", "").replace("_", "").isalnum()
    ):
        raise ConfigurationError(f"A header's name must be letters, digits and hyphens, got {name!r}.")
    if (
        not isinstance(value, str)
        or not value.isascii()
        or not value.replace("\t", " ").isprintable()
        or value != value.strip()
    ):
        raise ConfigurationError(
            f"The value of header {name} must be one line of ASCII text, without spaces around it."
        )


def _split(url: str) -> SplitResult:
    """Return the parts of a URL; errors do not show it, since it may hold a key."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and url.isascii()
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or " " in url:
        raise ConfigurationError(
            "base_url must be an address such as https://api.openai.com/v1 (http or https)."
        )
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError("base_url must not hold a user or a password; use api_key or headers.")
    return parts


def _environment_proxy(scheme: str, host: str, label: str) -> SplitResult | None:
    from urllib.request import getproxies, proxy_bypass  # slow to import

    proxies = getproxies()
    address = proxies.get(scheme) or proxies.get("all")
    if not address or proxy_bypass(label) or proxy_bypass(host):
        return None
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        usable = parts.scheme == "http" and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(f"The proxy for {scheme} in the environment must be an http:// address.")
    return parts
