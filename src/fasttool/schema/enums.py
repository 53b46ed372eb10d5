"""How the members of an enum are called in a schema and in arguments."""

from __future__ import annotations

from enum import Enum
from typing import Any


def member_text(member: Enum) -> str:
    """Return what a model calls ``member``: its value where the enum is made of text, else its name."""
    return str(member.value) if isinstance(member, str) else member.name


def member_texts(enum: type[Enum]) -> dict[str, Enum]:
    """Return the members by what a model calls them, in order of definition, without aliases."""
    return {member_text(member): member for member in enum}


def accepted_texts(enum: type[Enum]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a binder accepts: exact texts, and case-folded texts that fit one member alone.

    Exact texts are the shown ones, then names (aliases too), then values that are text; the first
    meaning of a text wins (reference: core, section 2.3).
    """
    exact: dict[str, Any] = dict(member_texts(enum))
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
