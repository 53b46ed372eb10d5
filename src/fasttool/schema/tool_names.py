"""Names of tools that a provider accepts, and the way back."""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Iterable

from fasttool.errors import ConfigurationError

_HASH_LENGTH = 6
_NOT_A_NAME = "tool"
_SHORTEST_LIMIT = 16


class NameRules:
    """What a provider accepts as the name of a tool.

    Args:
        allowed: the characters, as inside of ``[...]`` of a regular expression.
        longest: how many of them.
        first: the characters that may stand first; None for all. ``_`` must be one of them.

    Raises:
        ConfigurationError: names with a hash would not fit.
    """

    __slots__ = ("_allowed", "_first", "_pattern", "longest")

    def __init__(self, allowed: str, longest: int, first: str | None = None) -> None:
        self._allowed = re.compile(f"[{allowed}]")
        self._first = re.compile(f"[{allowed if first is None else first}]")
        self._pattern = re.compile(rf"(?=[{allowed if first is None else first}])[{allowed}]{{1,{longest}}}")
        self.longest = longest
        if longest < _SHORTEST_LIMIT or not self.fits("_a") or not self.fits("_27"):
            raise ConfigurationError(
                f"Names of tools must be allowed at least {_SHORTEST_LIMIT} characters, "
                "a to z, 2 to 7 and _ among them."
            )

    def fits(self, name: str) -> bool:
        """Return whether the provider accepts a name as it is."""
        return self._pattern.fullmatch(name) is not None

    def wire_name(self, name: str, attempt: int = 0) -> str:
        """Return a name that fits for one that does not: what can be read of it.

        It has a hash where little can be read (other alphabets than Latin, names that are too long or
        empty), and from the second attempt on.

        Args:
            name: the original.
            attempt: each further one gives another hash.
        """
        readable = self._readable(name[: 4 * self.longest])
        if attempt == 0 and name.isascii() and name and len(readable) <= self.longest:
            return readable
        text = f"{name}\0{attempt}" if attempt > 1 else name
        digest = hashlib.blake2s(text.encode("utf-8", "surrogatepass"), digest_size=5).digest()
        suffix = "_" + base64.b32encode(digest).decode().lower()[:_HASH_LENGTH]
        return readable[: self.longest - len(suffix)].rstrip("_-.") + suffix

    def _readable(self, name: str) -> str:
        """The name without accents, other characters that are refused an underscore."""
        kept = []
        for character in unicodedata.normalize("NFKD", name):
            if self._allowed.fullmatch(character):
                kept.append(character)
            elif not unicodedata.combining(character) and kept[-1:] != ["_"]:
                kept.append("_")
        text = "".join(kept).rstrip("_") or _NOT_A_NAME
        return text if self._first.match(text) else f"_{text}"


NAME_RULES = {
    # OpenAI, API reference, "function.name": a-z, A-Z, 0-9, underscores and dashes, at most 64.
    "openai": NameRules("a-zA-Z0-9_-", 64),
    # What Anthropic answers: "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'".
    "anthropic": NameRules("a-zA-Z0-9_-", 128),
    # What Gemini answers: "Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain
    # underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64." Vertex AI refuses
    # colons.
    "gemini": NameRules("a-zA-Z0-9_.-", 64, first="a-zA-Z_"),
}
"""The rules by provider."""


class ToolNames:
    """Names for the wire, and their originals; no two are alike.

    A name that fits stays as it is, whatever others there are. One that does not becomes what can be
    read of it: ``calendar.list`` is ``calendar_list``, or ``calendar_list_ifgfbz`` where that name is
    taken. Names that come later give way, so that a further tool renames no other (but for one whose
    own name is what another had become).

    Args:
        names: the originals.
        rules: a key of NAME_RULES, or rules of your own.

    Raises:
        ConfigurationError: there are no such rules.

    >>> names = ToolNames(["add", "math.add"], "openai")
    >>> names.wire("add"), names.wire("math.add")
    ('add', 'math_add')
    >>> names.original(names.wire("math.add"))
    'math.add'
    """

    __slots__ = ("_fitting", "_originals", "_rules", "_wire")

    def __init__(self, names: Iterable[str], rules: str | NameRules) -> None:
        if isinstance(rules, str):
            if rules not in NAME_RULES:
                raise ConfigurationError(f"There are no rules {rules!r}; there are {', '.join(NAME_RULES)}.")
            rules = NAME_RULES[rules]
        self._rules = rules
        self._wire: dict[str, str] = {}  # of the names that do not fit
        self._originals: dict[str, str] = {}
        self._fitting: set[str] = set()
        self._add(names)

    def _add(self, names: Iterable[str]) -> None:
        distinct = [name for name in dict.fromkeys(names) if name not in self._wire]
        changing = [name for name in distinct if not self._rules.fits(name)]
        self._fitting.update(distinct)
        self._fitting.difference_update(changing)
        for name in changing:
            wire_name = self._wire[name] = self._free_name(name)
            self._originals[wire_name] = name

    def extended(self, names: Iterable[str]) -> ToolNames:
        """Return these names with further ones, which give way to them; itself where all of them fit."""
        further = [name for name in names if name not in self._wire and not self._rules.fits(name)]
        if not further:
            return self
        more = ToolNames((), self._rules)
        more._wire.update(self._wire)
        more._originals.update(self._originals)
        more._fitting.update(self._fitting)
        more._add(further)
        return more

    def wire(self, name: str) -> str:
        """Return the name that the provider gets; also for a name that was not given before."""
        known = self._wire.get(name)
        if known is not None:
            return known
        return name if self._rules.fits(name) else self._free_name(name)

    def original(self, wire_name: str) -> str:
        """Return the original of a name that the provider sent, the name itself where there is none."""
        return self._originals.get(wire_name, wire_name)

    def _free_name(self, name: str) -> str:
        attempt = 0
        while (wire_name := self._rules.wire_name(name, attempt)) in self._fitting or (
            wire_name in self._originals
        ):
            attempt += 1
        return wire_name
