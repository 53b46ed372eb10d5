"""Templates of messages: ``{{name}}`` stands for a value (reference: core, section 8)."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from fasttool.errors import ConfigurationError

_PLACE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_NAME = re.compile(r"[^\W\d]\w*\Z")
ONLY_ARGUMENT = "it"
"""The name of the only argument, beside its own."""

_BUILT_IN: dict[str, Callable[[datetime.datetime], str]] = {
    "current_date": lambda now: now.date().isoformat(),
    "current_time": lambda now: now.time().isoformat("seconds"),
    "current_date_time": lambda now: now.isoformat(" ", "seconds"),
}


class Template:
    """Text with places for values.

    A value is put in as it is: what looks like a place inside of it stays text.

    Args:
        text: the template.
        owner: what it belongs to, for messages.

    Raises:
        ConfigurationError: the text between a pair of braces is no name.
    """

    __slots__ = ("_owner", "names", "text")

    def __init__(self, text: str, owner: str) -> None:
        self.text = text
        self._owner = owner
        self.names = tuple(dict.fromkeys(_PLACE.findall(text)))
        for name in self.names:
            if not _NAME.match(name):
                raise ConfigurationError(
                    f"The template of {owner} has {{{{{name}}}}}: an argument's name stands between braces."
                )

    def check(self, known: Collection[str]) -> None:
        """Refuse a template with a place that no argument fills.

        Raises:
            ConfigurationError: there is one.
        """
        for name in self.names:
            if (
                name not in known
                and name not in _BUILT_IN
                and not (name == ONLY_ARGUMENT and len(known) == 1)
            ):
                raise ConfigurationError(
                    f"The template of {self._owner} has {{{{{name}}}}}, which is no argument; "
                    f"it may have {', '.join((*known, *_BUILT_IN))}."
                )

    def filled(self, values: Mapping[str, Any]) -> str:
        """Return the text with the values in their places.

        Raises:
            ConfigurationError: a value is missing or None.
        """
        if not self.names:
            return self.text
        now = datetime.datetime.now().astimezone()

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name in values:
                found = values[name]
            elif name == ONLY_ARGUMENT and len(values) == 1:
                (found,) = values.values()
            elif name in _BUILT_IN:
                return _BUILT_IN[name](now)
            else:
                raise ConfigurationError(f'Value for the variable "{name}" of {self._owner} is missing.')
            if found is None:
                raise ConfigurationError(f'Value for the variable "{name}" of {self._owner} is None.')
            return str(found)

        return _PLACE.sub(value, self.text)
