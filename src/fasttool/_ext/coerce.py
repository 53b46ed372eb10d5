"""Bind the arguments of a tool call, as a model sent them, to the values of its parameters.

The rules (reference: core, 2.1 to 2.3) are the same at every depth.  A ``Coercer`` is one node of
a tree that mirrors the type; ``ArgumentBinder`` holds one per parameter.  This is the hot path:
the tree is walked by one function that branches on small integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from orjson import JSONDecodeError, loads

from fasttool._ext.numerals import decimal_from_text, integer_from_text, number_from_text
from fasttool._ext.problems import Failure, LostDigits, Mismatch, listed, misfit, path, shown, unlike, words
from fasttool.errors import ArgumentProblem, ProblemKind, ToolArgumentsError, ToolExecutionError
from fasttool.json_text import FloatLiteral, JsonTextError, decode, decode_exactly, encode

ANY: Final = 0
PARAMETER_TEXT: Final = (
    1  # text; a list or an object becomes its JSON text, which is so only for a whole parameter
)
TEXT: Final = 2
INTEGER: Final = 3
NUMBER: Final = 4
BOOLEAN: Final = 5
CHOICE: Final = 6
LIST: Final = 7
MAP: Final = 8
OBJECT: Final = 9
UNION: Final = 10
NULL: Final = 11
PARSED: Final = 12
DECIMAL: Final = 13
TUPLE: Final = 14
CHECKED: Final = 15
TAGGED: Final = 16


class Mark:
    """A value like no other; a copy of it, or of what holds it, has the same one."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name


MISSING: Final = Mark("MISSING")
OMITTED: Final = Mark("OMITTED")
MAX_DEPTH: Final = 128

# Twins of the public names above, which the .pxd turns into C variables.
_ANY, _PARAMETER_TEXT, _TEXT, _INTEGER, _NUMBER, _BOOLEAN = 0, 1, 2, 3, 4, 5
_CHOICE, _LIST, _MAP, _OBJECT, _UNION, _NULL = 6, 7, 8, 9, 10, 11
_PARSED, _DECIMAL, _TUPLE, _CHECKED, _TAGGED = 12, 13, 14, 15, 16
_MISSING, _OMITTED = MISSING, OMITTED
_DEPTH_LIMIT = MAX_DEPTH
# How exact a pass is: whether numbers may have lost digits, and whether floats are literals.
_FAST, _EXACT, _FROM_TEXT = 0, 1, 2

# Beyond it a float may stand for an integer whose digits the fast JSON reader has lost.
_EXACT_FLOATS = 2.0**63


def _is_final(mismatch: Mismatch) -> bool:
    """Say whether nothing else need be looked at: what is too deep may go on without an end."""
    return mismatch.problems[0][0] is ProblemKind.TOO_DEEP


def _wrong(coercer: Coercer, value: Any) -> Mismatch:
    return unlike(ProblemKind.WRONG_TYPE, coercer.accepts, value)


def _to_integer(coercer: Coercer, value: Any) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise unlike(ProblemKind.NOT_FINITE, coercer.accepts, value)
        if not value.is_integer():
            raise unlike(ProblemKind.NOT_INTEGRAL, coercer.accepts, value)
        # 1e30 is a whole number that no float is: its digits are read.
        return (
            integer_from_text(coercer.accepts, value.literal) if type(value) is FloatLiteral else int(value)
        )
    if isinstance(value, str):
        return integer_from_text(coercer.accepts, value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    raise _wrong(coercer, value)


def _to_number(coercer: Coercer, value: Any) -> Any:
    if isinstance(value, str):
        number = number_from_text(coercer.accepts, value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    else:
        raise _wrong(coercer, value)
    if not math.isfinite(number):
        raise unlike(ProblemKind.NOT_FINITE, "a finite number", value)
    return number


def _to_text(coercer: Coercer, value: Any, exact: int) -> Any:
    if isinstance(value, str):
        return str(value)
    whole = coercer._kind == _PARAMETER_TEXT and isinstance(value, (list, dict))
    if whole and not exact:
        raise LostDigits  # it may hold a long integer anywhere
    if whole or isinstance(value, (bool, int, float)):
        if isinstance(value, float) and not math.isfinite(value):
            raise unlike(ProblemKind.NOT_FINITE, coercer.accepts, value)
        try:
            return encode(_without_literals(value) if exact == _FROM_TEXT else value).decode()
        except JsonTextError:
            raise _wrong(coercer, value) from None
    raise _wrong(coercer, value)


def _without_literals(value: Any) -> Any:
    """Return a value without the literals that the exact reader keeps; its depth is that of JSON text."""
    if type(value) is FloatLiteral:
        return float(value)
    if type(value) is list:
        return [_without_literals(element) for element in value]
    if type(value) is dict:
        return {name: _without_literals(element) for name, element in value.items()}
    return value


def _to_decimal(coercer: Coercer, value: Any, exact: int) -> Any:
    if isinstance(value, Decimal):
        number = value
    elif isinstance(value, float):
        if not exact:
            raise LostDigits  # its literal is needed
        number = Decimal(value.literal if type(value) is FloatLiteral else repr(value))
    elif isinstance(value, int) and not isinstance(value, bool):
        number = Decimal(value)
    elif isinstance(value, str):
        number = decimal_from_text(coercer.accepts, value)
    else:
        raise _wrong(coercer, value)
    if not number.is_finite():
        raise unlike(ProblemKind.NOT_FINITE, coercer.accepts, value)
    return number


def _to_parsed(coercer: Coercer, value: Any) -> Any:
    if not isinstance(value, str):
        raise _wrong(coercer, value)
    try:
        return coercer._construct(value)
    except (ValueError, OverflowError):
        raise _wrong(coercer, value) from None


def _to_tuple(coercer: Coercer, value: Any, depth: int, exact: int, memo: Any) -> Any:
    if isinstance(value, str):
        value = _decoded(coercer, value)
    if not isinstance(value, (list, tuple)):
        raise _wrong(coercer, value)
    members = coercer._members
    if len(value) != len(members):
        raise misfit(ProblemKind.WRONG_TYPE, f"must be {coercer.accepts}, got {len(value)} elements")
    values: list[Any] = []
    problems: Any = None
    cause: Any = None
    for index in range(len(members)):
        try:
            values.append(_coerce(members[index], value[index], depth, exact, memo))
        except Mismatch as mismatch:
            problems = _collected(problems, mismatch, index)
            if _is_final(mismatch):
                raise
            cause = cause or mismatch.__cause__
    if problems is not None:
        raise Mismatch(problems) from cause
    return coercer._construct(values)


def _to_checked(coercer: Coercer, value: Any, depth: int, exact: int, memo: Any) -> Any:
    value = _coerce(coercer._item, value, depth, exact, memo)
    for check in coercer._others:
        reason = check(value)
        if reason is not None:
            raise misfit(ProblemKind.OUT_OF_RANGE, f"{reason}, got {shown(value)}")
    return value


def _to_tagged(coercer: Coercer, value: Any, depth: int, exact: int, memo: Any) -> Any:
    """Take the member that the tag names."""
    if isinstance(value, str):
        value = _decoded(coercer, value)
    if not isinstance(value, Mapping):
        raise _wrong(coercer, value)
    name = coercer._construct
    tag = value.get(name, _MISSING)
    member: Any = coercer._choices.get(tag) if isinstance(tag, str) else None
    if tag is _MISSING and coercer._members:  # the tag has a default: any member may be meant
        return _to_member(coercer, value, depth, exact, memo)
    if member is None:
        known = ", ".join(coercer._choices)
        how = "is missing" if tag is _MISSING else f"is {shown(tag)}"
        reason = f"{how}; it must be one of {known}"
        raise Mismatch([(ProblemKind.NOT_ALLOWED, [name], reason)])
    return _coerce(member, value, depth, exact, memo)


def _to_choice(coercer: Coercer, value: Any) -> Any:
    if isinstance(value, str):
        chosen = coercer._choices.get(value, _MISSING)
        if chosen is not _MISSING:
            return chosen
        chosen = coercer._folded.get(value.casefold(), _MISSING)
        if chosen is _MISSING:
            chosen = coercer._folded_values.get(value.strip().casefold(), _MISSING)
        if chosen is not _MISSING:
            return chosen
    else:
        for choice, chosen in coercer._others:
            if choice == value and (type(choice) is bool) == (type(value) is bool):
                return chosen
    raise unlike(ProblemKind.NOT_ALLOWED, coercer.accepts, value)


def _decoded(coercer: Coercer, value: str) -> Any:
    """Read the JSON text that stands for a list or an object; it is read once."""
    try:
        return decode(value)
    except JsonTextError:
        raise _wrong(coercer, value) from None


def _to_list(coercer: Coercer, value: Any, depth: int, exact: int, memo: Any) -> Any:
    if isinstance(value, str):
        value = _decoded(coercer, value)
    if not isinstance(value, (list, tuple)):
        raise _wrong(coercer, value)
    item = coercer._item
    values: list[Any] = []
    index = 0
    try:
        for element in value:
            values.append(_coerce(item, element, depth, exact, memo))
            index += 1
    except Mismatch as mismatch:
        for problem in mismatch.problems:
            problem[1].append(index)
        raise
    if coercer._construct is None:
        return values
    try:
        return coercer._construct(values)
    except TypeError as error:  # a set of what cannot be hashed
        raise misfit(ProblemKind.WRONG_TYPE, f"is refused: {error}") from error


def _to_map(coercer: Coercer, value: Any, depth: int, exact: int, memo: Any) -> Any:
    if isinstance(value, str):
        value = _decoded(coercer, value)
    # A dictionary is seen by its type alone: asking an abstract class costs as much as an object.
    if type(value) is not dict and not isinstance(value, Mapping):
        raise _wrong(coercer, value)
    item = coercer._item
    key_coercer = coercer._key
    values: dict[Any, Any] = {}
    name: Any = None
    try:
        for name, element in value.items():
            values[name if key_coercer is None else _coerce(key_coercer, name, depth, exact, memo)] = _coerce(
                item, element, depth, exact, memo
            )
    except Mismatch as mismatch:
        for problem in mismatch.problems:
            problem[1].append(str(name))
        raise
    return values


def _to_object(coercer: Coercer, value: Any, depth: int, exact: int, memo: Any) -> Any:
    if isinstance(value, str):
        value = _decoded(coercer, value)
    if type(value) is not dict and not isinstance(value, Mapping):
        raise _wrong(coercer, value)
    fields = coercer._fields
    values = fields._bind(value if type(value) is dict else dict(value), depth, exact, memo)
    construct = coercer._construct
    if construct is None:
        return {
            name: entry for name, entry in zip(fields._names, values, strict=False) if entry is not _OMITTED
        } | (values[-1] if fields._extra is not None else {})
    try:
        if coercer._keyword_only:
            given = {
                name: entry
                for name, entry in zip(fields._names, values, strict=False)
                if entry is not _OMITTED
            }
            return construct(**given, **values[-1]) if fields._extra is not None else construct(**given)
        return construct(*values)
    except (ValueError, TypeError, ArithmeticError, AssertionError) as error:
        # The type's own checks: their words are for whoever made the call.
        raise misfit(ProblemKind.NOT_ALLOWED, f"is refused: {words(error)}") from error
    except Exception as error:
        raise Failure from error


def _is_exact(coercer: Coercer, value: Any) -> bool:
    """Say whether the JSON type of ``value`` is the very type that ``coercer`` takes."""
    kind = coercer._kind
    if kind == _ANY:
        return True
    if kind == _CHECKED:
        return _is_exact(coercer._item, value)
    if kind == _CHOICE:
        return (isinstance(value, str) and value in coercer._choices) or (
            not isinstance(value, str) and any(value == choice for choice, _ in coercer._others)
        )
    if isinstance(value, str):
        return kind in (_TEXT, _PARAMETER_TEXT)
    if isinstance(value, bool):
        return kind == _BOOLEAN
    if isinstance(value, int):
        return kind == _INTEGER
    if isinstance(value, float):
        return kind in (_NUMBER, _DECIMAL)
    if type(value) is dict or isinstance(value, Mapping):
        return kind in (_MAP, _OBJECT, _TAGGED)
    return kind in (_LIST, _TUPLE) and isinstance(value, (list, tuple))


def _to_member(coercer: Coercer, value: Any, depth: int, exact: int, memo: Any) -> Any:
    """Do what ``_try_members`` does, once for each container.

    Unions inside unions would otherwise try each way through the value: twice as many at each level.
    """
    if not isinstance(value, (dict, list)):
        return _try_members(coercer, value, depth, exact, memo)
    if memo is None:
        memo = {}
    key = (id(coercer), id(value))
    known = memo.get(key)
    if known is None:
        # The value is kept too, so that no other one gets its id.
        try:
            known = memo[key] = (value, _try_members(coercer, value, depth, exact, memo), None)
        except Mismatch as mismatch:
            if _is_final(mismatch):
                raise
            known = memo[key] = (
                value,
                None,
                [(kind, tuple(parts), why) for kind, parts, why in mismatch.problems],
            )
    if known[2] is not None:
        raise Mismatch([(kind, list(parts), why) for kind, parts, why in known[2]])
    return known[1]


def _try_members(coercer: Coercer, value: Any, depth: int, exact: int, memo: Any) -> Any:
    """Try the members whose JSON type fits exactly, then those that convert; the first that takes it wins."""
    problems: list[Any] = []
    meant: Any = None
    for exactly in (True, False):
        for member in coercer._members:
            if _is_exact(member, value) != exactly:
                continue
            if meant is not None and not _shows_type(member, value):
                continue
            try:
                return _coerce(member, value, depth, exact, memo)
            except Mismatch as mismatch:
                if _is_final(mismatch):
                    raise
                problems.append(mismatch)
        if len(problems) == 1 and exactly:
            meant = problems[0]  # it is clear which member was meant, if no other shows this type
    if meant is not None:
        raise meant
    raise _wrong(coercer, value)


def _shows_type(coercer: Coercer, value: Any) -> bool:
    """Say whether the schema of ``coercer`` has the JSON type of ``value``, in another role than its own."""
    kind = coercer._kind
    if kind == _CHECKED:
        return _shows_type(coercer._item, value)
    if isinstance(value, str):
        return kind == _PARSED
    if isinstance(value, bool):
        return False
    return isinstance(value, (int, float)) and kind in (_INTEGER, _NUMBER, _DECIMAL)


def _coerce(coercer: Coercer, value: Any, depth: int, exact: int, memo: Any) -> Any:
    kind = coercer._kind
    if value is None:
        if coercer._optional or kind in (_ANY, _NULL):
            return None
        raise _wrong(coercer, value)
    if kind in (_TEXT, _PARAMETER_TEXT):
        if type(value) is str:
            return value
        if not exact and type(value) is float and (value >= _EXACT_FLOATS or value <= -_EXACT_FLOATS):
            raise LostDigits
        return _to_text(coercer, value, exact)
    if kind == _INTEGER:
        if type(value) is int:
            return value
        if not exact and type(value) is float and (value >= _EXACT_FLOATS or value <= -_EXACT_FLOATS):
            raise LostDigits
        return _to_integer(coercer, value)
    if kind == _NUMBER:
        if type(value) is float:
            number = value
            if number - number == 0.0:  # finite, in C alone: math.isfinite is a call back into Python
                return value
        return _to_number(coercer, value)
    if kind == _BOOLEAN:
        if value is True or value is False:
            return value
        raise _wrong(coercer, value)
    if kind == _ANY:
        return _without_literals(value) if exact == _FROM_TEXT else value
    if kind == _DECIMAL:
        return _to_decimal(coercer, value, exact)
    if not exact and type(value) is float and (value >= _EXACT_FLOATS or value <= -_EXACT_FLOATS):
        raise LostDigits
    if kind == _CHOICE:
        return _to_choice(coercer, value)
    if kind == _PARSED:
        return _to_parsed(coercer, value)
    if depth >= _DEPTH_LIMIT:
        raise misfit(ProblemKind.TOO_DEEP, f"is nested deeper than {MAX_DEPTH} levels")
    if kind == _LIST:
        return _to_list(coercer, value, depth + 1, exact, memo)
    if kind == _MAP:
        return _to_map(coercer, value, depth + 1, exact, memo)
    if kind == _OBJECT:
        return _to_object(coercer, value, depth + 1, exact, memo)
    if kind == _UNION:
        return _to_member(coercer, value, depth, exact, memo)
    if kind == _CHECKED:
        return _to_checked(coercer, value, depth + 1, exact, memo)
    if kind == _TUPLE:
        return _to_tuple(coercer, value, depth + 1, exact, memo)
    if kind == _TAGGED:
        return _to_tagged(coercer, value, depth + 1, exact, memo)
    raise _wrong(coercer, value)


class Coercer:
    """One node of a type.

    Args:
        kind: one of the constants above.
        accepts: what it takes, as an error text says it ("an integer").
        optional: null is a value.
    """

    __slots__ = (
        "_choices",
        "_construct",
        "_fields",
        "_folded",
        "_folded_values",
        "_item",
        "_key",
        "_keyword_only",
        "_kind",
        "_members",
        "_optional",
        "_others",
        "accepts",
    )

    def __init__(self, kind: int, accepts: str, optional: bool = False) -> None:
        self._kind = kind
        self.accepts = accepts
        self._optional = optional
        self._item: Any = None
        self._key: Any = None
        self._construct: Any = None
        self._keyword_only = False
        self._fields: Any = None
        self._members: Any = ()
        self._choices: dict[str, Any] = {}
        self._folded: dict[str, Any] = {}
        self._folded_values: dict[str, Any] = {}
        self._others: Any = ()

    @property
    def kind(self) -> int:
        """Which of the constants it was made with."""
        return self._kind

    def set_choices(
        self,
        exact: dict[str, Any],
        folded: dict[str, Any],
        folded_values: dict[str, Any],
        others: Sequence[tuple[Any, Any]] = (),
    ) -> None:
        """Complete a CHOICE.

        Args:
            exact: the value of each exact text.
            folded: the value of each case-folded text, where it is clear.
            folded_values: the same, for text whose white space at the ends does not count.
            others: values that are not text, each with what it becomes.
        """
        self._choices = exact
        self._folded = folded
        self._folded_values = folded_values
        self._others = tuple(others)

    def set_items(
        self, item: Coercer, key: Coercer | None = None, construct: Callable[[Any], Any] | None = None
    ) -> None:
        """Complete a LIST or a MAP: its elements, its keys, and what makes the value of a list."""
        self._item = item
        self._key = key
        self._construct = construct

    def set_object(
        self,
        fields: ArgumentBinder,
        construct: Callable[..., Any] | None = None,
        keyword_only: bool = False,
    ) -> None:
        """Complete an OBJECT: its fields, and what makes the value.

        Args:
            fields: binds the fields.
            construct: makes the value; None keeps a dictionary.
            keyword_only: it takes the fields by keyword.
        """
        self._fields = fields
        self._construct = construct
        self._keyword_only = keyword_only

    def set_members(self, members: Sequence[Coercer], construct: Callable[[Any], Any] | None = None) -> None:
        """Complete a UNION or a TUPLE: its members, and what makes the value of a tuple."""
        self._members = tuple(members)
        self._construct = construct

    def set_reader(self, read: Callable[[str], Any]) -> None:
        """Complete a PARSED: returns the value of a text, or raises ValueError."""
        self._construct = read

    def set_checks(self, item: Coercer, checks: Sequence[Callable[[Any], str | None]]) -> None:
        """Complete a CHECKED: what reads the value, and functions that say what is wrong with it."""
        self._item = item
        self._others = tuple(checks)

    def set_tags(self, name: str, members: dict[str, Coercer]) -> None:
        """Complete a TAGGED: the field that holds the tag, and the member for each tag."""
        self._construct = name
        self._choices = dict(members)


class ArgumentBinder:
    """What to do with each parameter of a tool, or each field of an object, in order.

    Args:
        owner: name of the tool or type, for messages.
        names: names in Python, n of them.
        wire_names: names in the arguments, n of them.
        coercers: one per name.
        defaults: the default of each; MISSING where it must be given, OMITTED where an absent one stays
            absent.
        factories: what makes the default of each, None where nothing does.
        extra: what further names are read as; None leaves them to ``closed``.
        closed: further names are refused; otherwise they are passed over.
        opaque: a value is taken as it is somewhere, so that numbers must be read exactly at once.
        read: reads argument text that is not a plain JSON object; ``(owner, text) -> dict``.

    Raises:
        ValueError: the lengths differ.
    """

    __slots__ = (
        "_closed",
        "_coercers",
        "_count",
        "_defaults",
        "_extra",
        "_factories",
        "_names",
        "_opaque",
        "_owner",
        "_read",
        "_wire_names",
    )

    def __init__(
        self,
        owner: str,
        names: Sequence[str],
        wire_names: Sequence[str],
        coercers: Sequence[Coercer],
        defaults: Sequence[Any],
        factories: Sequence[Callable[[], Any] | None],
        *,
        extra: Coercer | None = None,
        closed: bool = False,
        opaque: bool = True,
        read: Callable[[str, Any], dict[str, Any]] | None = None,
    ) -> None:
        self._owner = owner
        self._names = tuple(names)
        self._wire_names = tuple(wire_names)
        self._coercers = tuple(coercers)
        self._defaults = tuple(defaults)
        self._factories = tuple(factories)
        self._count = len(self._names)
        self._extra = extra
        self._closed = closed
        self._opaque = opaque
        self._read = read
        columns: tuple[tuple[Any, ...], ...] = (
            self._wire_names,
            self._coercers,
            self._defaults,
            self._factories,
        )
        if any(len(column) != self._count for column in columns):
            raise ValueError("names, wire_names, coercers, defaults and factories must have the same length")

    def values(self, arguments: Any) -> list[Any]:
        """Return the values of the n names, and one dictionary of further ones where they are taken.

        Args:
            arguments: JSON text, UTF-8 bytes, a mapping, or None for nothing.

        Raises:
            ToolArgumentsError: the text is not a JSON object, a value is missing, or one does not fit.
            ToolExecutionError: a default factory or an object's own code failed; ``__cause__`` says how.
        """
        try:
            return self._values(arguments)
        except (ToolArgumentsError, ToolExecutionError):
            raise
        except Exception as error:
            # Only values made by Python code come here: JSON has none that refuses to be read.
            problem = ArgumentProblem(ProblemKind.WRONG_TYPE, "", "the arguments cannot be read")
            raise ToolArgumentsError(self._owner, [problem]) from error

    def _values(self, arguments: Any) -> list[Any]:
        given: Any = arguments
        if type(arguments) is str or type(arguments) is bytes:
            try:
                given = decode(arguments) if self._opaque else loads(arguments)
            except (JSONDecodeError, JsonTextError):
                given = None
        if type(given) is not dict:
            given = self._read(self._owner, arguments) if self._read is not None else dict(arguments)
        try:
            try:
                return self._bind(given, 0, _FAST, None)
            except LostDigits:
                exactly = self._literals(arguments)
                if exactly is None:  # what ``read`` gives is exact, and so is what Python code gives
                    return self._bind(given, 0, _EXACT, None)
                return self._bind(exactly, 0, _FROM_TEXT, None)
        except Mismatch as mismatch:
            raise self._error(mismatch) from mismatch.__cause__
        except Failure as failure:
            cause = failure.__cause__
            raise ToolExecutionError(self._owner, str(cause).strip() or type(cause).__name__) from cause

    def _literals(self, arguments: Any) -> dict[str, Any] | None:
        """Return the arguments with each float as it was written; None for what is no plain object."""
        if not isinstance(arguments, (str, bytes)):
            return None
        try:
            given = decode_exactly(arguments, literals=True)
        except JsonTextError:
            return None
        return given if type(given) is dict else None

    def bind(self, arguments: Any) -> dict[str, Any]:
        """Do what ``values`` does, and return the values by name; absent optional fields are left out."""
        values = self.values(arguments)
        bound = {
            name: value for name, value in zip(self._names, values, strict=False) if value is not _OMITTED
        }
        if self._extra is not None:
            for name, value in values[-1].items():
                bound.setdefault(name, value)
        return bound

    def _error(self, mismatch: Mismatch) -> ToolArgumentsError:
        return ToolArgumentsError(
            self._owner,
            [ArgumentProblem(kind, path(parts), reason) for kind, parts, reason in mismatch.problems],
        )

    def _bind(self, given: Any, depth: int, exact: int, memo: Any) -> list[Any]:
        wire_names = self._wire_names
        coercers = self._coercers
        values: list[Any] = []
        problems: Any = None
        cause: Any = None
        found = 0
        for i in range(self._count):
            coercer = coercers[i]
            value = given.get(wire_names[i], _MISSING)
            if value is not _MISSING:
                found += 1
                if value is not None or coercer._optional or coercer._kind == _ANY or coercer._kind == _NULL:
                    try:
                        values.append(_coerce(coercer, value, depth, exact, memo))
                    except Mismatch as mismatch:
                        problems = _collected(problems, mismatch, wire_names[i])
                        if _is_final(mismatch):
                            raise
                        if cause is None:
                            cause = mismatch.__cause__
                    continue
            # Absent, or null where null is no value: both mean the default.
            default = self._defaults[i]
            if default is _MISSING:
                if self._factories[i] is None:
                    problems = _collected(problems, _absent(coercer, value), wire_names[i])
                    continue
                factory: Any = self._factories[i]
                try:
                    default = factory()
                except Exception as error:
                    raise Failure from error
            values.append(default)
        if found != len(given) and (self._closed or self._extra is not None):
            problems = self._further(given, values, problems, depth, exact, memo)
        elif self._extra is not None:
            values.append({})
        if problems is not None:
            raise Mismatch(problems) from cause
        return values

    def _further(
        self, given: Any, values: list[Any], problems: Any, depth: int, exact: int, memo: Any
    ) -> Any:
        """Take or refuse the names of ``given`` that are no parameters."""
        known = frozenset(self._wire_names)
        extra: dict[str, Any] = {}
        for name, value in given.items():
            if name in known:
                continue
            try:
                if self._extra is None:
                    accepted = listed(self._wire_names)
                    raise misfit(ProblemKind.UNKNOWN_NAME, f"is not a known name; accepted: {accepted}")
                extra[name] = _coerce(self._extra, value, depth, exact, memo)
            except Mismatch as mismatch:
                problems = _collected(problems, mismatch, name)
                if _is_final(mismatch):
                    raise
        if self._extra is not None:
            values.append(extra)
        return problems


def _absent(coercer: Coercer, value: Any) -> Mismatch:
    how = "is missing" if value is _MISSING else "was null"
    return misfit(ProblemKind.MISSING, f"is required and {how}; it must be {coercer.accepts}")


def _collected(problems: Any, mismatch: Mismatch, name: Any) -> Any:
    for problem in mismatch.problems:
        problem[1].append(name)
    return mismatch.problems if problems is None else problems + mismatch.problems
