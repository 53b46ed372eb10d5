"""JSON Schema -> forms, for tools that come with a schema instead of a signature.

What a form cannot say (conditions, ``not``, ``contains``, formats) is not checked here: every value
that the schema allows is taken, and the model sees the whole schema.  A schema that lists properties or
elements and no type is read as one of an object or an array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fasttool.schema.conjunctions import (
    MAX_PARTS,
    Conjunctions,
    Schema,
    common_types,
    says_nothing,
    says_only,
    without,
)
from fasttool.schema.constraints import limit_checks
from fasttool.schema.exactness import ExactMatch, identity
from fasttool.schema.foreign_checks import (
    NamedCheck,
    alternative_names,
    dependent_names,
    groups_of_names,
    names_like,
    names_that_fit,
    one_of,
    unique_elements,
)
from fasttool.schema.forms import (
    AliasForm,
    AnyForm,
    BooleanForm,
    FieldForm,
    Form,
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
)

_MAX_DEPTH = 100
# A schema can be small and say ever so much: all of it is read once, and combinations are counted.
_MAX_SCHEMAS = 200_000
_MAX_COMBINATIONS = 3000
_MAX_ALTERNATIVES = 200
_MAX_PLACES = 200
_MAX_LENGTHS = 8
_CHOICES = ("anyOf", "oneOf")
_SIMPLE: dict[str, type[Form]] = {"string": StringForm, "boolean": BooleanForm, "null": NullForm}


def schema_form(schema: Mapping[str, Any] | None) -> Form:
    """Return the form of a tool's parameters: an object, or a union of objects.

    Args:
        schema: an object schema in the normal form of ``normalise``; None for no parameters.
    """
    form = _Reader(schema or {}).root_form()
    members = form.members if isinstance(form, UnionForm) else (form,)
    if all(isinstance(member, (ObjectForm, MapForm)) for member in members):
        return form
    return ObjectForm(name="arguments", extra=AnyForm())


class _Reader:
    """One pass over one schema; a part that is met again has the same form."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._conjunctions = Conjunctions(root)
        # By the identity of schemas: their forms, and for those being read an alias once one is needed.
        self._forms: dict[int, Form] = {}
        self._open: dict[int, AliasForm | None] = {}
        # Schemas that were put together here, by the identity of those that they are made of.
        self._made: dict[tuple[int, ...], Schema] = {}
        self._schemas = 0
        self._combinations = 0

    def root_form(self) -> Form:
        """Return the form of the root, which is an object whatever it says."""
        return self._combined(self._conjunctions.parts([{"type": "object"}, self._root]), 0, None)

    def form(self, schema: Any, depth: int) -> Form:
        """Return the form of a schema."""
        schema = self._conjunctions.followed(schema)
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return AnyForm()
        key = id(schema)
        if key in self._forms:
            return self._forms[key]
        if key in self._open:
            alias = self._open[key] = self._open[key] or AliasForm(name="value")
            return alias
        self._schemas += 1
        if self._schemas > _MAX_SCHEMAS:
            return AnyForm()
        self._open[key] = None
        form = self._combined(self._conjunctions.parts([schema]), depth, key)
        alias_used = self._open.pop(key)
        if alias_used is not None:
            # What null means to an alias must be known: one of an alias says nothing.
            alias_used.inner = (
                OptionalForm(inner=AnyForm()) if isinstance(form, (AnyForm, AliasForm)) else form
            )
        self._forms[key] = form
        return form

    def _both(self, schemas: Sequence[Any]) -> Any:
        """Return a schema that says what all of several say."""
        schemas = [schema for schema in schemas if isinstance(schema, Mapping)]
        if len(schemas) < 2:
            return schemas[0] if schemas else True
        key = tuple(sorted({id(schema) for schema in schemas}))
        return self._made.setdefault(key, {"allOf": schemas})

    def _combined(self, parts: Sequence[Schema], depth: int, key: int | None) -> Form:
        """Return the form of what all parts say together.

        Args:
            parts: each a schema; the references and ``allOf`` in it are parts of their own.
            depth: of the schema in the document.
            key: identity of the schema whose form it will be; None for none.
        """
        if len(parts) >= MAX_PARTS:
            return AnyForm()
        values = _values(parts)
        if values is not None:
            return _choices(values)
        for index, part in enumerate(parts):
            for keyword in _CHOICES:
                members = part.get(keyword)
                if (
                    isinstance(members, list)
                    and 0 < len(members) <= _MAX_ALTERNATIVES
                    and groups_of_names(members) is None
                ):
                    rest = [*parts[:index], without(part, keyword), *parts[index + 1 :]]
                    # What these refer to is among the parts already.
                    rest = [without(entry, "allOf", "$ref", "$dynamicRef") for entry in rest]
                    return self._alternatives(rest, members, depth)
        kinds = common_types(parts)
        if kinds is None:
            return AnyForm()
        single = key if len(kinds) == 1 else None
        return _union([self._typed(kind, parts, depth, single) for kind in kinds])

    def _alternatives(self, rest: Sequence[Schema], members: Sequence[Any], depth: int) -> Form:
        """Return the union of what each member says together with the rest."""
        alone = all(map(says_nothing, rest))
        forms: list[Form] = []
        met: set[int] = set()
        waiting = list(reversed(members))
        while waiting:
            member = self._conjunctions.followed(waiting.pop())
            if not isinstance(member, Mapping):
                if member is False:
                    continue
                return AnyForm() if alone else self._combined(rest, depth, None)
            if id(member) in met:
                continue
            met.add(id(member))
            inner = next(
                (member[word] for word in _CHOICES if says_only(member, word) and word in member), None
            )
            if isinstance(inner, list) and inner and groups_of_names(inner) is None:
                waiting.extend(reversed(inner))
                continue
            if len(met) > _MAX_ALTERNATIVES:
                return AnyForm()
            forms.append(self._member(member, depth) if alone else self._combination(rest, member, depth))
        return _union(forms)

    def _member(self, member: Schema, depth: int) -> Form:
        form = self.form(member, depth + 1)
        # Of a member that is still being read the JSON type must be clear.
        known = member.get("type") in ("array", "object") and not any(
            keyword in member for keyword in (*_CHOICES, "allOf", "$ref", "$dynamicRef")
        )
        return form if known or not isinstance(form, AliasForm) else AnyForm()

    def _combination(self, rest: Sequence[Schema], member: Schema, depth: int) -> Form:
        self._combinations += 1
        if self._combinations > _MAX_COMBINATIONS or depth >= _MAX_DEPTH:
            return AnyForm()
        return self._combined(self._conjunctions.parts([*rest, member]), depth + 1, None)

    def _typed(self, kind: str, parts: Sequence[Schema], depth: int, key: int | None) -> Form:
        checks = list(dict(check for part in parts for check in limit_checks(kind, part)).items())
        if kind == "array":
            return self._array(parts, checks, depth)
        if kind == "object":
            return self._object(parts, checks, depth, key)
        if kind in _SIMPLE:
            return _SIMPLE[kind](checks=tuple(checks))
        if kind == "integer":
            return IntegerForm(checks=tuple(checks))
        # An integer that is sent for a number stays one.
        return UnionForm(members=(IntegerForm(checks=tuple(checks)), NumberForm(checks=tuple(checks))))

    def _array(self, parts: Sequence[Schema], checks: list[NamedCheck], depth: int) -> Form:
        if any(part.get("uniqueItems") is True for part in parts):
            checks.append(unique_elements())
        listing = [part for part in parts if isinstance(part.get("prefixItems"), list)]
        rests = [part["items"] for part in parts if "items" in part]
        if not listing:
            if False in rests:
                checks += limit_checks("array", {"maxItems": 0})
            return ListForm(item=self.form(self._both(rests), depth + 1), checks=tuple(checks))
        if len(listing) > 1 or any("items" in part for part in parts if part is not listing[0]):
            return ListForm(item=AnyForm(), checks=tuple(checks))
        return self._places(parts, listing[0], checks, depth)

    def _places(self, parts: Sequence[Schema], listing: Schema, checks: list[NamedCheck], depth: int) -> Form:
        """Return the form of a list whose first elements have their own schemas: a tuple for each length."""
        first: list[Any] = listing["prefixItems"][:_MAX_PLACES]
        rest = listing.get("items", True)
        shortest = max((_count(part, "minItems", 0) for part in parts), default=0)
        open_end = _MAX_PLACES + 1
        longest = min((_count(part, "maxItems", open_end) for part in parts), default=open_end)
        if rest is False:
            longest = min(longest, len(listing["prefixItems"]))
        listed_end = len(first) if longest > _MAX_PLACES else longest
        shortest_listed = max(shortest, listed_end - _MAX_LENGTHS + 1)
        forms = [self.form(entry, depth + 1) for entry in first[:listed_end]]
        if len(forms) < listed_end:
            forms += [self.form(rest, depth + 1)] * (listed_end - len(forms))
        members: list[Form] = [
            TupleForm(items=tuple(forms[:length]), construct=list, checks=tuple(checks))
            for length in range(shortest_listed, listed_end + 1)
        ]
        if shortest < shortest_listed:  # too many lengths to tell each
            shorter = [*checks, *limit_checks("array", {"maxItems": shortest_listed - 1})]
            members.append(ListForm(item=AnyForm(), checks=tuple(shorter)))
        if listed_end < longest:
            longer = [*checks, *limit_checks("array", {"minItems": listed_end + 1})]
            members.append(ListForm(item=AnyForm(), checks=tuple(longer)))
        return _union(members) if members else ListForm(item=AnyForm(), checks=tuple(checks))

    def _object(self, parts: Sequence[Schema], checks: list[NamedCheck], depth: int, key: int | None) -> Form:
        properties: dict[str, list[Any]] = {}
        for part in parts:
            for name, entry in _mapping(part, "properties").items():
                properties.setdefault(name, []).append(entry)
        patterns = {
            name: entry for part in parts for name, entry in _mapping(part, "patternProperties").items()
        }
        conditional = self._conjunctions.conditional_names(parts)
        further = [part["additionalProperties"] for part in parts if "additionalProperties" in part]
        closed = conditional is not None and (
            False in further
            or (not further and any(part.get("unevaluatedProperties") is False for part in parts))
        )
        needed = {name for part in parts for name in _names(part.get("required"))}
        if closed:
            # What is declared beside, in an alternative or a condition, is not refused.
            for name in conditional or ():
                properties.setdefault(name, [])
        checks += self._object_checks(parts, properties if closed else None, patterns, depth)
        obj = ObjectForm(name="object", checks=tuple(checks))
        named = bool(properties or needed or not depth)
        if key is not None and named:  # it may contain itself
            self._forms[key] = obj
        if patterns:
            exactly = closed and len(patterns) == 1
            obj.extra = self.form(next(iter(patterns.values())), depth + 1) if exactly else AnyForm()
        elif not closed:
            obj.extra = self.form(self._both(further), depth + 1)
        if obj.extra is not None and not named:
            return MapForm(value=obj.extra, checks=obj.checks)
        for name, entries in properties.items():
            form = self.form(self._both(entries), depth + 1)
            obj.fields.append(FieldForm(name, name, form, required=name in needed))
        if obj.extra is not None:
            for name in sorted(needed - properties.keys()):
                obj.fields.append(FieldForm(name, name, obj.extra))
        return obj

    def _object_checks(
        self,
        parts: Sequence[Schema],
        closed_to: Mapping[str, Any] | None,
        patterns: Mapping[str, Any],
        depth: int,
    ) -> list[NamedCheck]:
        checks: list[NamedCheck] = []
        if closed_to is not None and patterns:
            like = names_like(list(patterns), closed_to)
            checks += [] if like is None else [like]
        for part in parts:
            needs = {
                name: others
                for name, entry in _mapping(part, "dependentRequired").items()
                if (others := _names(entry))
            }
            if needs:
                checks.append(dependent_names(needs))
            names = part.get("propertyNames")
            if isinstance(names, Mapping):
                checks.append(names_that_fit(self.form(self._both([{"type": "string"}, names]), depth + 1)))
            for keyword in _CHOICES:
                members = part.get(keyword)
                groups = groups_of_names(members) if isinstance(members, list) and members else None
                if groups:
                    checks.append(alternative_names(groups, only_one=keyword == "oneOf"))
        return checks


def _mapping(schema: Schema, keyword: str) -> Mapping[str, Any]:
    value = schema.get(keyword)
    return value if isinstance(value, Mapping) else {}


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _count(schema: Schema, keyword: str, absent: int) -> int:
    value = schema.get(keyword)
    return int(value) if isinstance(value, (int, float)) and 0 <= value < 10**9 else absent


def _values(parts: Sequence[Schema]) -> list[Any] | None:
    """Return the values that all parts allow; None where they do not list them."""
    lists: list[list[Any]] = [[part["const"]] for part in parts if "const" in part]
    lists += [part["enum"] for part in parts if isinstance(part.get("enum"), list) and part["enum"]]
    if not lists:
        return None
    first, *others = lists
    try:
        for values in others:
            known = set(map(identity, values))
            first = [value for value in first if identity(value) in known] or first
    except RecursionError:
        return first
    kinds = common_types(parts)
    return [value for value in first if kinds is None or _is_of(value, kinds)] or first


def _is_of(value: Any, kinds: Sequence[str]) -> bool:
    if value is None:
        return "null" in kinds
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, (int, float)):
        whole = isinstance(value, int) or value.is_integer()
        return "number" in kinds or ("integer" in kinds and whole)
    if isinstance(value, str):
        return "string" in kinds
    return ("object" if isinstance(value, Mapping) else "array") in kinds


def _choices(values: Sequence[Any]) -> Form:
    members: list[Form] = [NullForm()] if None in values else []
    scalars = tuple(value for value in values if isinstance(value, (str, int, float)))
    if scalars:
        members.append(LiteralForm(values=scalars, by_text=True))
    objects = [value for value in values if isinstance(value, Mapping)]
    if objects:
        members.append(MapForm(value=AnyForm(), checks=(one_of(objects),)))
    lists = [value for value in values if isinstance(value, (list, tuple))]
    if lists:
        members.append(ListForm(item=AnyForm(), checks=(one_of(lists),)))
    return _union(members)


def _union(members: Sequence[Form]) -> Form:
    optional = False
    found: dict[int, Form] = {}
    literals: list[Any] = []
    waiting = list(reversed(members))
    while waiting:
        member = waiting.pop()
        if isinstance(member, OptionalForm):
            optional = True
            waiting.append(member.inner)
        elif isinstance(member, UnionForm):
            waiting.extend(reversed(member.members))
        elif isinstance(member, NullForm):
            optional = True
        elif isinstance(member, AnyForm):
            return AnyForm()
        elif isinstance(member, LiteralForm):
            literals += member.values
        else:
            found[id(member)] = member
    forms = tuple(found.values())
    if literals:  # one list of choices, however they are spread over the alternatives
        forms = (LiteralForm(values=tuple(literals), by_text=True), *forms)
    if not forms:
        return NullForm() if optional else AnyForm()
    inner = forms[0] if len(forms) == 1 else UnionForm(members=forms, exact=_exact(forms))
    return OptionalForm(inner=inner) if optional else inner


def _exact(forms: Sequence[Form]) -> tuple[ExactMatch, ...]:
    """Return a match for each member, where JSON types alone do not tell them apart."""
    objects = [form for form in forms if isinstance(form, (ObjectForm, MapForm, AliasForm))]
    lists = [form for form in forms if isinstance(form, (ListForm, TupleForm, AliasForm))]
    lengths = {len(form.items) for form in lists if isinstance(form, TupleForm)}
    told_apart = len(lengths) == len(lists)
    if len(objects) < 2 and (len(lists) < 2 or told_apart):
        return ()
    return tuple(map(ExactMatch, dict.fromkeys([*objects, *lists])))
