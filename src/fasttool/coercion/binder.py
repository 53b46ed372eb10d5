"""Forms -> binders: the second fold over what a type means (the first is the schema)."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

from fasttool._ext.coerce import (
    ANY,
    BOOLEAN,
    CHECKED,
    CHOICE,
    DECIMAL,
    INTEGER,
    LIST,
    MAP,
    MISSING,
    NULL,
    NUMBER,
    OBJECT,
    OMITTED,
    PARAMETER_TEXT,
    PARSED,
    TAGGED,
    TEXT,
    TUPLE,
    UNION,
    ArgumentBinder,
    Coercer,
)
from fasttool._ext.problems import listed
from fasttool.coercion.arguments import read_arguments
from fasttool.errors import ConfigurationError, ToolArgumentsError
from fasttool.schema.constraints import checks
from fasttool.schema.enums import accepted_numbers, accepted_texts, shown_values
from fasttool.schema.forms import (
    ABSENT,
    AliasForm,
    AnyForm,
    BooleanForm,
    DecimalForm,
    EnumForm,
    FieldForm,
    Form,
    FormattedForm,
    IntegerForm,
    ListForm,
    LiteralForm,
    MapForm,
    NullForm,
    NumberForm,
    ObjectForm,
    OptionalForm,
    StringForm,
    TupleForm,
    UnionForm,
    UseForm,
)

_SCALARS: dict[type[Form], tuple[int, str]] = {
    AnyForm: (ANY, "any value"),
    NullForm: (NULL, "null"),
    StringForm: (TEXT, "text"),
    IntegerForm: (INTEGER, "an integer"),
    NumberForm: (NUMBER, "a number"),
    BooleanForm: (BOOLEAN, "true or false"),
    DecimalForm: (DECIMAL, "a decimal number"),
}
# Members of a union are tried from the narrow to the wide, so that their order in the source says nothing.
_BY_WIDTH = (
    *(BOOLEAN, INTEGER, NUMBER, DECIMAL, PARSED, CHOICE),
    *(TAGGED, OBJECT, TUPLE, LIST, MAP, TEXT, ANY),
)
_WIDTHS = {kind: width for width, kind in enumerate(_BY_WIDTH)}
# What a foreign schema can make a sentence of must end somewhere.
_SHOWN_CHOICES = 200
_MAX_ACCEPTS = 2000
_INTEGER_TEXT = re.compile(r"-?(0|[1-9][0-9]{0,17})")


def argument_binder(
    owner: str,
    fields: Sequence[FieldForm],
    *,
    extra: Form | None = None,
    closed: bool = False,
    repair_json: bool = False,
) -> ArgumentBinder:
    """Return the binder of a tool's parameters.

    Args:
        owner: name of the tool, for messages.
        fields: its parameters.
        extra: what further arguments are read as; None leaves them to ``closed``.
        closed: further arguments are refused; otherwise they are passed over.
        repair_json: broken text is guessed at.

    Raises:
        ConfigurationError: a default does not fit, or ``json-repair`` is not installed.
    """
    read: Callable[[str, Any], dict[str, Any]] = read_arguments
    if repair_json:
        from fasttool.coercion.guessing import guessing_reader

        read = guessing_reader()
    return _Compiler().binder(owner, fields, extra=extra, closed=closed, read=read)


class _Compiler:
    """One pass over the forms of one tool; an object that contains itself gives one node."""

    def __init__(self) -> None:
        self._known: dict[tuple[Form, bool, bool], Coercer] = {}
        self._objects: dict[ObjectForm, dict[bool, Coercer]] = {}
        self._aliases: dict[AliasForm, dict[bool, Coercer]] = {}
        self._opaque = False

    def binder(
        self, owner: str, fields: Sequence[FieldForm], *, extra: Form | None, closed: bool, read: Any = None
    ) -> ArgumentBinder:
        # A whole parameter of type text may come as a list or an object: its JSON text is kept.
        coercers = [self.coercer(entry.form, whole=read is not None) for entry in fields]
        further = None if extra is None else self.coercer(extra)
        defaults = [
            _declared(owner, entry, coercer, check=read is not None)
            if entry.declared_default
            else (_default(entry), entry.default_factory)
            for entry, coercer in zip(fields, coercers, strict=True)
        ]
        return ArgumentBinder(
            owner,
            [entry.name for entry in fields],
            [entry.wire_name for entry in fields],
            coercers,
            [default for default, _ in defaults],
            [factory for _, factory in defaults],
            extra=further,
            closed=closed,
            opaque=self._opaque,
            read=read,
        )

    def coercer(self, form: Form, *, optional: bool = False, whole: bool = False) -> Coercer:
        """Return the node of a form; with a node above it for each that has constraints or checks.

        A form that is met again has the same node: a schema can refer to one part from ever so many places.
        """
        key = (form, optional, whole)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._limited(form, optional=optional, whole=whole)
        return known

    def _limited(self, form: Form, *, optional: bool, whole: bool) -> Coercer:
        if not (form.constraints or form.checks) or isinstance(form, (OptionalForm, UseForm)):
            return self._node(form, optional=optional, whole=whole)
        inner = self._node(form)
        limits = [f"{keyword} {limit}" for keyword, limit in form.constraints.items()]
        limits += [words for words, _ in form.checks]
        coercer = Coercer(CHECKED, _brief(f"{inner.accepts} ({', '.join(limits)})"), optional)
        coercer.set_checks(inner, [*checks(form.constraints), *(check for _, check in form.checks)])
        return coercer

    def _node(self, form: Form, *, optional: bool = False, whole: bool = False) -> Coercer:
        if isinstance(form, OptionalForm):
            return self.coercer(form.inner, optional=True, whole=whole)
        if isinstance(form, UseForm):
            return self.coercer(form.inner, optional=optional, whole=whole)
        scalar = _SCALARS.get(type(form))
        if scalar is not None:
            kind, accepts = scalar
            if kind == TEXT and whole:
                kind = PARAMETER_TEXT
            self._opaque = self._opaque or kind == ANY
            return Coercer(kind, accepts, optional)
        if isinstance(form, FormattedForm):
            coercer = Coercer(PARSED, form.accepts, optional)
            coercer.set_reader(form.read)
            return coercer
        if isinstance(form, EnumForm):
            return _enum(form, optional)
        if isinstance(form, LiteralForm):
            return _literal(form, optional)
        if isinstance(form, ObjectForm):
            return self._object(form, optional)
        if isinstance(form, AliasForm):
            return self._alias(form, optional or isinstance(form.inner, (OptionalForm, AnyForm)))
        if isinstance(form, TupleForm):
            places = [self.coercer(item) for item in form.items]
            accepts = ", ".join(place.accepts for place in places)
            coercer = Coercer(TUPLE, _brief(f"a list of {len(places)} elements ({accepts})"), optional)
            coercer.set_members(places, form.construct)
            return coercer
        if isinstance(form, UnionForm):
            tags = _tags(form)
            if tags is not None:
                name, tagged = tags
                coercer = Coercer(TAGGED, f'an object with "{name}" {" or ".join(tagged)}', optional)
                if not all(_requires(member, name) for member in tagged.values()):
                    coercer.set_members([self.coercer(member) for member in dict.fromkeys(tagged.values())])
                coercer.set_tags(name, {tag: self.coercer(member) for tag, member in tagged.items()})
                return coercer
            members = [self.coercer(member) for member in form.members]
            optional = optional or any(isinstance(member, AnyForm) for member in form.members)
            coercer = Coercer(UNION, _brief(_alternatives(members)), optional)
            coercer.set_members(sorted(members, key=_width))
            return coercer if not form.exact else self._exact_first(coercer, form, optional)
        if isinstance(form, MapForm):
            coercer = Coercer(MAP, "an object", optional)
            coercer.set_items(self.coercer(form.value), None if form.key is None else self.coercer(form.key))
            return coercer
        if isinstance(form, ListForm):
            item = self.coercer(form.item)
            coercer = Coercer(LIST, _brief(f"a list (each element: {item.accepts})"), optional)
            coercer.set_items(item, None, form.construct)
            return coercer
        raise TypeError(f"{type(form).__name__} has no coercer")

    def _exact_first(self, coercer: Coercer, form: UnionForm, optional: bool) -> Coercer:
        """Return a node that takes what fits exactly as it stands, and leaves the rest to ``coercer``.

        A node tells members apart by the JSON type alone, and takes the first that converts.
        """
        self._opaque = True
        members = []
        for check in form.exact:
            member = Coercer(CHECKED, "any value")
            member.set_checks(Coercer(ANY, "any value"), (check,))
            members.append(member)
        first = Coercer(UNION, coercer.accepts, optional)
        first.set_members([*members, coercer])
        return first

    def _alias(self, form: AliasForm, optional: bool) -> Coercer:
        known = self._aliases.setdefault(form, {})
        if optional not in known:
            # A node that adds nothing to the one below it, which may contain it.
            coercer = known[optional] = Coercer(CHECKED, f"a {form.name}", optional)
            coercer.set_checks(self.coercer(form.inner), ())
        return known[optional]

    def _object(self, form: ObjectForm, optional: bool) -> Coercer:
        known = self._objects.setdefault(form, {})
        if optional in known:
            return known[optional]
        names = listed(entry.wire_name for entry in form.fields) if form.fields else ""
        coercer = known[optional] = Coercer(
            OBJECT, f"an object with {names}" if names else "an object", optional
        )
        # An object that stays a dictionary has the fields of its schema by their own names.
        fields = self.binder(form.name, form.fields, extra=form.extra, closed=form.extra is None)
        coercer.set_object(fields, form.construct, form.keyword_only)
        return coercer


def _tags(form: UnionForm) -> tuple[str, dict[str, Form]] | None:
    """Return the field that tells the members of a union apart, and the member for each tag.

    It is a field that every member has and requires, with text of its own in each (``Literal["cat"]``).
    """
    members = [member.inner if isinstance(member, UseForm) else member for member in form.members]
    objects = [member for member in members if isinstance(member, ObjectForm)]
    if len(objects) < len(members):
        return None
    for candidate in objects[0].fields:
        tagged: dict[str, Form] = {}
        for member in objects:
            entry = next((entry for entry in member.fields if entry.wire_name == candidate.wire_name), None)
            values = entry.form.values if entry is not None and isinstance(entry.form, LiteralForm) else ()
            if not values or any(not isinstance(value, str) or value in tagged for value in values):
                break
            tagged.update(dict.fromkeys(values, member))
        else:
            return candidate.wire_name, tagged
    return None


def _requires(form: Form, name: str) -> bool:
    fields = form.fields if isinstance(form, ObjectForm) else []
    return any(entry.required for entry in fields if entry.wire_name == name)


def _alternatives(members: Sequence[Coercer]) -> str:
    """Return what a union accepts; a number beside an integer says all."""
    texts = list(dict.fromkeys(member.accepts for member in members))
    return " or ".join(
        text
        for text in texts
        if not (text.startswith("an integer") and f"a number{text.removeprefix('an integer')}" in texts)
    )


def _brief(text: str) -> str:
    return text if len(text) <= _MAX_ACCEPTS else text[: _MAX_ACCEPTS - 3] + "..."


def _width(coercer: Coercer) -> int:
    return _WIDTHS.get(coercer.kind, len(_WIDTHS))


def _default(entry: FieldForm) -> Any:
    if entry.default is not ABSENT:
        return entry.default
    return MISSING if entry.required or entry.default_factory is not None else OMITTED


def _declared(owner: str, entry: FieldForm, coercer: Coercer, *, check: bool) -> tuple[Any, Any]:
    """Return the default that ``P`` gives, or what makes it anew for each call.

    Args:
        owner: name of the tool or type, for messages.
        entry: has the default.
        coercer: reads it.
        check: read it now; a field of an object cannot, since its type may not be complete yet.

    Raises:
        ConfigurationError: it does not fit the type.
    """
    if type(entry.default) not in (str, int, float, bool, list, dict):
        return entry.default, None  # a Python value, not what an argument could be
    reader = ArgumentBinder(owner, [entry.name], [entry.wire_name], [coercer], [MISSING], [None])

    def make() -> Any:
        return reader.bind({entry.wire_name: copy.deepcopy(entry.default)})[entry.name]

    if not check:
        return MISSING, make
    try:
        value = make()
    except ToolArgumentsError as error:
        reasons = "; ".join(map(str, error.problems))
        raise ConfigurationError(f"The default in P does not fit the type: {reasons}.") from None
    return (value, None) if isinstance(value, (str, int, float, Enum)) else (MISSING, make)


def _enum(form: EnumForm, optional: bool) -> Coercer:
    shown = shown_values(form.enum, by_value=form.by_value)
    exact, folded = accepted_texts(form.enum, by_value=form.by_value)
    # A value that is not just the name is free text: white space at its ends does not count.
    values = {
        member.value.casefold(): member
        for member in form.enum
        if isinstance(member.value, str)
        and member.value != member.name
        and folded.get(member.value.casefold()) is member
    }
    coercer = Coercer(CHOICE, f"one of {', '.join(map(str, shown))}", optional)
    coercer.set_choices(exact, folded, values, accepted_numbers(form.enum, by_value=form.by_value))
    return coercer


def _literal(form: LiteralForm, optional: bool) -> Coercer:
    texts = {value: value for value in form.values if isinstance(value, str)}
    folded: dict[str, Any] = {}
    for text in texts:
        key = text.casefold()
        folded[key] = MISSING if key in folded else text
    clear = {key: text for key, text in folded.items() if text is not MISSING}
    others = [(value, value) for value in form.values if not isinstance(value, str)]
    accepts = listed(
        (str(value).lower() if isinstance(value, bool) else str(value) for value in form.values),
        _SHOWN_CHOICES,
    )
    coercer = Coercer(CHOICE, f"one of {accepts}", optional)
    if form.by_text:
        clear = {**{_text(value): value for value, _ in others if type(value) is not bool}, **clear}
        known = {_text(value) for value, _ in others}
        others += [(value, text) for value, text in _scalars(texts) if _text(value) not in known]
    coercer.set_choices(texts, clear, clear, others)
    return coercer


def _text(value: Any) -> str:
    return str(value).casefold()


def _scalars(texts: Iterable[str]) -> Iterator[tuple[Any, str]]:
    """Yield the integer or the boolean that a text writes, and the text."""
    for text in texts:
        if text.casefold() in ("true", "false"):
            yield text.casefold() == "true", text
        elif _INTEGER_TEXT.fullmatch(text):
            yield int(text), text
