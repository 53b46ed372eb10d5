"""What a foreign schema asks of a whole array or object, as checks: words for it, and what says the fault."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fasttool import json_text
from fasttool.schema.exactness import ExactMatch, identity
from fasttool.schema.forms import Form
from fasttool.schema.patterns import pattern_refusal

NamedCheck = tuple[str, Callable[[Any], str | None]]
_MAX_SHOWN = 200


def unique_elements() -> NamedCheck:
    """Return the check that no element of a list is there twice."""

    def check(value: Any) -> str | None:
        try:
            keys = [identity(element) for element in value]
        except RecursionError:  # too deep to be compared
            return None
        return None if len(set(keys)) == len(keys) else "must not have an element twice"

    return "uniqueItems", check


def one_of(values: Iterable[Any]) -> NamedCheck:
    """Return the check that a list or an object is one of those given."""
    known = frozenset(map(identity, values))
    shown = ", ".join(json_text.encode(value).decode() for value in values)
    shown = shown if len(shown) <= _MAX_SHOWN else shown[: _MAX_SHOWN - 3] + "..."

    def check(value: Any) -> str | None:
        try:
            return None if identity(value) in known else f"must be one of {shown}"
        except RecursionError:
            return f"must be one of {shown}"

    return shown, check


def dependent_names(needs: Mapping[str, Sequence[str]]) -> NamedCheck:
    """Return the check that some names come with others (dependentRequired)."""

    def check(value: Any) -> str | None:
        for name, others in needs.items():
            missing = [other for other in others if other not in value] if name in value else ()
            if missing:
                return f"must have {_quoted(missing)} where it has {_quoted([name])}"
        return None

    return "; ".join(f"{_quoted([name])} needs {_quoted(others)}" for name, others in needs.items()), check


def alternative_names(groups: Sequence[Collection[str]], *, only_one: bool) -> NamedCheck:
    """Return the check that an object has all names of one of several groups.

    Args:
        groups: the names of each group.
        only_one: a second group is a fault.
    """
    texts = list(dict.fromkeys(_quoted(group) for group in groups))
    shown = " or ".join(texts)

    def check(value: Any) -> str | None:
        complete = sum(all(name in value for name in group) for group in groups)
        if not complete:
            return f"must have {shown}"
        return f"must have {shown}, and only one of them" if only_one and complete > 1 else None

    return f"has {shown}", check


def names_like(patterns: Sequence[str], known: Collection[str]) -> NamedCheck | None:
    """Return the check that further names of an object match a pattern; None where that cannot be said.

    Args:
        patterns: one of them must match.
        known: names that need not.
    """
    refusals = [pattern_refusal(pattern) for pattern in patterns]
    sure = [refuses for refuses in refusals if refuses is not None]
    if len(sure) < len(patterns):
        return None
    names = frozenset(known)
    shown = " or ".join(patterns)

    def check(value: Any) -> str | None:
        for name in value:
            if name not in names and all(refuses(name) for refuses in sure):
                return f"has the name {_quoted([name])}; other names match {shown}"
        return None

    return f"other names match {shown}", check


def names_that_fit(form: Form) -> NamedCheck:
    """Return the check that each name of an object is what a form says (propertyNames)."""
    match = ExactMatch(form)

    def check(value: Any) -> str | None:
        for name in value:
            if match(name) is not None:
                return f"has the name {_quoted([name])}, which is not allowed"
        return None

    return "propertyNames", check


def groups_of_names(members: Sequence[Any]) -> list[list[str]] | None:
    """Return the names that each alternative requires; None where one says more than that."""
    return list(_groups(members)) if all(map(_only_requires, members)) else None


def _only_requires(member: Any) -> bool:
    return (
        isinstance(member, Mapping)
        and isinstance(member.get("required"), list)
        and member.get("type", "object") == "object"
        and member.keys() <= {"required", "type", "title", "description"}
    )


def _groups(members: Sequence[Any]) -> Iterator[list[str]]:
    for member in members:
        yield [name for name in member["required"] if isinstance(name, str)]


def _quoted(names: Iterable[str]) -> str:
    return " and ".join(json_text.encode(name).decode() for name in names)
