"""How the members of an enum are called in a schema and in arguments."""

from __future__ import annotations

from enum import Enum
from typing import Any


def member_text(member: Enum) -> str:
    """Return what a model calls ``member``: its value where the enum is made of text, else its name."""
    return str(member.value) if isinstance(member, str) else member.name


def shown_values(enum: type[Enum], *, by_value: bool = False) -> list[Any]:
    """Return what a schema shows of the members, in order of definition, without aliases.

    Args:
        enum: the enum.
        by_value: values are shown, also where they are not text.
    """
    return [member.value if by_value else member_text(member) for member in enum]


def accepted_texts(enum: type[Enum], *, by_value: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a binder accepts: exact texts, and case-folded texts that fit one member alone.

    Exact texts are the shown ones, then names (aliases too), then values that are text; the first
    meaning of a text wins (reference: core, section 2.3).
    """
    exact: dict[str, Any] = {}
    for shown, member in zip(shown_values(enum, by_value=by_value), enum, strict=True):
        if isinstance(shown, str):
            exact[str(shown)] = member
    for name, member in enum.__members__.items():
        exact.setdefault(name, member)
    for member in enum:
        if isinstance(member.value, str):
            exact.setdefault(str(member.value), member)
    candidates: dict[str, list[Enum]] = {}
    for text, member in exact.items():
        found = candidates.setdefault(text.casefold(), [])
        if not any(member is other for other in found):
            found.append(member)
    folded: dict[str, Any] = {}
    for text, members in candidates.items():
        # An upper-case spelling is preferred, as for the names that most enums have.
        upper = exact.get(text.upper())
        if upper is not None:
            folded[text] = upper
        elif len(members) == 1:
            folded[text] = members[0]
    return exact, folded


def accepted_numbers(enum: type[Enum], *, by_value: bool = False) -> list[tuple[Any, Enum]]:
    """Return the values that are no text and that a binder accepts, each with its member.

    They are those of enums made of integers, and of enums that are shown by their values.
    """
    if not by_value and not issubclass(enum, int):
        return []
    return [(member.value, member) for member in enum if isinstance(member.value, (bool, int, float))]
