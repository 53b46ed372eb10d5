"""Foreign JSON Schema (MCP servers, OpenAPI, function-calling documents) -> normal form.

The normal form is JSON Schema 2020-12 of an object.  References are ``#`` or ``#/$defs/NAME``;
ids, anchors and comments are gone; what the schema says beyond that is kept as it is.

What is only said in another way is rewritten in silence.  Each repair that loses or guesses
something gives a warning: ``schema-not-object``, ``bad-KEYWORD`` (of a wrong type, left out),
``null-keyword:KEYWORD``, ``bad-schema`` (neither object nor boolean, now ``{}``), ``unknown-type``,
``dialect-type:NAME``, ``dialect-keyword:NAME``, ``unknown-required:NAME``, ``converted-default``,
``unresolved-ref:REFERENCE``, ``remote-ref:REFERENCE``, ``cyclic-ref:REFERENCE``, ``too-deep``,
``too-large``, ``cyclic-schema``, ``bad-key``, ``bad-text``, ``not-json``.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from math import isfinite
from typing import Any, Final

from fasttool import json_text
from fasttool.schema.dialects import allow_null, convert_default, fits, modern, truth, type_name
from fasttool.schema.keywords import (
    BOOLEAN_SCHEMAS,
    CHECKS,
    DROPPED,
    IN_PLACE_LISTS,
    REFERENCES,
    SCHEMA_LISTS,
    SCHEMA_MAPS,
    SCHEMAS,
)
from fasttool.schema.references import References, break_cycles, is_resource, merged

MAX_DEPTH = 200
"""Objects and arrays inside each other, in the result."""

_MAX_REPEATS = 200_000
"""Entries of containers that are met again: Python objects can share parts, and parts of parts."""

_MAX_INTEGER_BITS = 14_000  # Python refuses to write more than 4,300 digits
_MAX_WARNING = 120

# With one of these, a required name may be declared elsewhere.
_DECLARES_ELSEWHERE = frozenset(
    ["if", "then", "else", "dependentSchemas", "patternProperties", *IN_PLACE_LISTS, *REFERENCES]
)


class _Absent(Enum):
    ABSENT = auto()


_ABSENT: Final = _Absent.ABSENT


class _Place(Enum):
    """Where a schema stands; it decides which of its required names must be declared beside them."""

    ROOT = auto()
    PROPERTY = auto()
    VALUE = auto()
    DEFINITION = auto()
    IN_PLACE = auto()


_CHILD_PLACES = {
    "properties": _Place.PROPERTY,
    "$defs": _Place.DEFINITION,
    "dependentSchemas": _Place.IN_PLACE,
    "not": _Place.IN_PLACE,
    "if": _Place.IN_PLACE,
    "then": _Place.IN_PLACE,
    "else": _Place.IN_PLACE,
    **dict.fromkeys(IN_PLACE_LISTS, _Place.IN_PLACE),
}


def normalise(schema: Any) -> tuple[dict[str, Any], list[str]]:
    """Return a foreign JSON Schema in normal form, and a warning for each repair.

    The result is valid JSON Schema 2020-12, has a JSON form, describes an object and is the same
    when it is normalised again, then without warnings.  Nothing is fetched; any input is taken.

    Args:
        schema: what came as the schema of a tool's arguments; it is not changed.
    """
    if not isinstance(schema, dict):
        return {"type": "object", "properties": {}}, ["schema-not-object"]
    warnings: list[str] = []
    while True:
        normaliser = _Normaliser(schema)
        result = normaliser.result()
        warnings += normaliser.warnings
        broken = list(break_cycles(result)) if normaliser.has_references else []
        if not broken:
            return result, warnings
        # Without these references other keywords can be wrong: look again.
        warnings += [_warning("cyclic-ref", reference) for reference in broken]
        schema = result


def _warning(code: str, detail: str | None = None) -> str:
    text = code if detail is None else f"{code}:{detail}"
    if len(text) > _MAX_WARNING:
        text = text[: _MAX_WARNING - 1] + "…"
    return text if text.isascii() else json_text.replace_surrogates(text)


class _Normaliser:
    """One run over one schema."""

    def __init__(self, root: dict[Any, Any]) -> None:
        self.warnings: list[str] = []
        self.has_references = False
        self._root = root
        self._references = References(root)
        self._seen: set[int] = set()
        self._path: set[int] = set()
        self._repeats = 0
        # Rewritten schemas live on until the end: what is known of them is known by identity.
        self._rewritten: list[dict[Any, Any]] = []

    def result(self) -> dict[str, Any]:
        schema = self._schema(self._inlined_root(), 1, _Place.ROOT, self._root)
        kind = schema.get("type", "object")
        if kind != "object":
            if not (isinstance(kind, list) and "object" in kind):
                self._warn("schema-not-object")
            schema["type"] = "object"
            self._check_default(schema, 1)
        # A list of values is for the arguments as a whole: without an object in it no call could be right.
        if "enum" in schema and not any(isinstance(value, dict) for value in schema["enum"]):
            self._warn("bad-enum")
            del schema["enum"]
        if "const" in schema and not isinstance(schema["const"], dict):
            self._warn("bad-const")
            del schema["const"]
        if "type" not in schema:
            schema = {"type": "object", **schema}
            self._check_default(schema, 1)
        schema.setdefault("properties", {})
        self._add_definitions(schema)
        return schema

    def _warn(self, code: str, detail: str | None = None) -> None:
        self.warnings.append(_warning(code, detail))

    def _inlined_root(self) -> dict[Any, Any]:
        """The root with what its reference points to: the properties must stand at the top."""
        root = self._root
        met = {id(root)}
        while isinstance(reference := root.get("$ref"), str):
            target = self._references.target(reference)
            siblings = {key: value for key, value in root.items() if key != "$ref"}
            if isinstance(target, dict) and id(target) not in met:
                met.add(id(target))
                root = merged(target, siblings, reference)
                continue
            if isinstance(target, dict):
                self._warn("cyclic-ref", reference)
            elif target is not True:
                self._warn_unresolved(reference, self._root)
            root = siblings
        if root is not self._root:
            self._rewritten.append(root)
        return root

    def _add_definitions(self, schema: dict[str, Any]) -> None:
        definitions: dict[str, Any] = {}
        for name, body, resource in self._references.definitions:
            definitions[name] = self._schema(body, 3, _Place.DEFINITION, resource)
        pending = self._references.pending
        while pending:
            name, body, resource = pending.popleft()
            definitions[name] = self._schema(body, 3, _Place.DEFINITION, resource)
        if definitions:
            schema["$defs"] = definitions

    def _enter(self, raw: Any, depth: int) -> bool:
        """Whether to go into a container that is not empty; then it is to be left as well."""
        if depth > MAX_DEPTH:
            self._warn("too-deep")
            return False
        key = id(raw)
        if key in self._seen:
            if key in self._path:
                self._warn("cyclic-schema")
                return False
            if self._repeats > _MAX_REPEATS:
                self._warn("too-large")
                return False
            self._repeats += 1 + len(raw)
        else:
            self._seen.add(key)
        self._path.add(key)
        return True

    def _key(self, key: Any, taken: Iterable[str]) -> str | None:
        """The text of a key, None if it has none or another key has it already."""
        if isinstance(key, str):
            name = key if key.isascii() else json_text.replace_surrogates(key)
            name = name if type(name) is str else str.__str__(name)
            if name == key and name not in taken:
                return name
        elif isinstance(key, int) and not isinstance(key, bool) and key.bit_length() <= 64:
            name = int.__repr__(key)
        else:
            name = ""
        self._warn("bad-key")
        return name if name and name not in taken else None

    def _value(self, raw: Any, depth: int) -> Any:
        """A JSON value; _ABSENT for what is none, which is null further inside."""
        if raw is None or raw is True or raw is False:
            return raw
        if isinstance(raw, str):
            if raw.isascii():
                return raw if type(raw) is str else str.__str__(raw)
            text = json_text.replace_surrogates(raw)
            if text != raw:
                self._warn("bad-text")
            return text if type(text) is str else str.__str__(text)
        if isinstance(raw, int):
            return int.__index__(raw) if raw.bit_length() <= _MAX_INTEGER_BITS else _ABSENT
        if isinstance(raw, float):
            return float.__float__(raw) if isfinite(raw) else _ABSENT
        if not isinstance(raw, (dict, list, tuple)):
            return _ABSENT
        if not raw:
            return {} if isinstance(raw, dict) else []
        if not self._enter(raw, depth):
            return {}
        result: dict[str, Any] | list[Any]
        if isinstance(raw, dict):
            result = {}
            for key, entry in raw.items():
                if (name := self._key(key, result)) is not None:
                    result[name] = self._inner_value(entry, depth + 1)
        else:
            result = [self._inner_value(entry, depth + 1) for entry in raw]
        self._path.discard(id(raw))
        return result

    def _inner_value(self, raw: Any, depth: int) -> Any:
        value = self._value(raw, depth)
        if value is _ABSENT:
            self._warn("not-json")
            return None
        return value

    def _schema(self, raw: Any, depth: int, place: _Place, resource: dict[Any, Any]) -> dict[str, Any]:
        """The normal form of one schema; ``depth`` is where it stands in the result."""
        if not isinstance(raw, dict):
            if raw is False:
                if depth <= MAX_DEPTH:
                    return {"not": {}}
                self._warn("too-deep")
            elif raw is not True:
                self._warn("bad-schema")
            return {}
        if not raw or not self._enter(raw, depth):
            return {}
        key = id(raw)
        if place is not _Place.ROOT and is_resource(raw):
            resource = raw
        rewritten = self._rewrite(raw, place)
        schema: dict[str, Any] = {}
        for keyword, value in rewritten.items():
            name = keyword if type(keyword) is str and keyword.isascii() else self._key(keyword, schema)
            if name is None or name in DROPPED:
                continue
            if value is None and name not in ("default", "const"):
                self._warn("null-keyword", name)
                continue
            normal = self._keyword(name, value, depth + 1, place, resource)
            if normal is not _ABSENT:
                schema[name] = normal
        if "default" in schema:
            self._check_default(schema, depth)
        if "required" in schema:
            self._check_required(schema, rewritten, place)
        self._path.discard(key)
        return schema

    def _rewrite(self, raw: dict[Any, Any], place: _Place) -> dict[Any, Any]:
        """The same schema in the words of 2020-12; ``raw`` itself where it is so already."""
        schema = modern(raw)
        if "nullable" in schema:
            nullable = schema["nullable"]
            schema = {keyword: value for keyword, value in schema.items() if keyword != "nullable"}
            if nullable is True and place is not _Place.ROOT:
                allow_null(schema)
            elif not isinstance(nullable, bool):
                self._warn("bad-nullable")
        if place is _Place.PROPERTY and "optional" in schema and truth(schema["optional"]) is not None:
            self._warn("dialect-keyword", "optional")
            schema = {keyword: value for keyword, value in schema.items() if keyword != "optional"}
        if schema is not raw:
            self._rewritten.append(schema)
        return schema

    def _keyword(self, name: str, value: Any, depth: int, place: _Place, resource: dict[Any, Any]) -> Any:
        """The normal form of a keyword's value, _ABSENT to leave the keyword out."""
        normal: Any = _ABSENT
        if name == "type":
            return self._type(value)
        if name in SCHEMA_MAPS:
            if isinstance(value, dict):
                if place is _Place.ROOT and name == "$defs":
                    return self._root_definitions(value)
                return self._schema_map(name, value, depth, resource)
        elif name in SCHEMAS:
            if isinstance(value, bool) and (name in BOOLEAN_SCHEMAS or (name == "items" and not value)):
                return value
            if isinstance(value, (dict, bool)):
                return self._sub_schema(name, value, depth, resource)
        elif name in SCHEMA_LISTS:
            if isinstance(value, (list, tuple)) and value:
                return self._schema_list(name, value, depth, resource)
        elif name in REFERENCES:
            if isinstance(value, str):
                self.has_references = True
                normal = self._references.canonical(value, resource)
                if normal is not None:
                    return normal
                self._warn_unresolved(value, resource)
                return _ABSENT
        elif name == "required":
            if isinstance(value, (list, tuple)):
                return self._names(name, value)
        elif name == "dependentRequired":
            if isinstance(value, dict):
                return self._dependent_names(value)
        else:
            normal = self._value(value, depth)
            check = CHECKS.get(name)
            if check is not None and normal is not _ABSENT and not check(normal):
                normal = _ABSENT
        if normal is _ABSENT:
            self._warn("bad-" + name)
        return normal

    def _warn_unresolved(self, reference: str, resource: dict[Any, Any]) -> None:
        remote = self._references.is_remote(reference, resource)
        self._warn("remote-ref" if remote else "unresolved-ref", reference)

    def _type(self, value: Any) -> str | list[str] | _Absent:
        names: list[str] = []
        entries = value if isinstance(value, (list, tuple)) and value else (value,)
        self._repeats += len(entries) - 1
        for entry in entries:
            if not isinstance(entry, str):
                self._warn("bad-type")
                continue
            name = type_name(entry)
            if name is None:
                self._warn("unknown-type")
                continue
            if name != entry:
                self._warn("dialect-type", entry)
            if name not in names:
                names.append(name)
        if not names:
            return _ABSENT
        return names[0] if len(names) == 1 else names

    def _root_definitions(self, value: dict[Any, Any]) -> dict[str, Any]:
        """The place where ``_add_definitions`` will put the bodies."""
        for key in value:
            if not isinstance(key, str) or key != json_text.replace_surrogates(key):
                self._warn("bad-key")
        return {}

    def _schema_map(
        self, name: str, value: dict[Any, Any], depth: int, resource: dict[Any, Any]
    ) -> dict[str, Any]:
        if not value or not self._enter(value, depth):
            return {}
        place = _CHILD_PLACES.get(name, _Place.VALUE)
        schemas: dict[str, Any] = {}
        for key, schema in value.items():
            plain = key if type(key) is str and key.isascii() else self._key(key, schemas)
            if plain is not None:
                schemas[plain] = self._schema(schema, depth + 1, place, resource)
        self._path.discard(id(value))
        return schemas

    def _sub_schema(self, name: str, value: Any, depth: int, resource: dict[Any, Any]) -> Any:
        before = len(self.warnings)
        schema = self._schema(value, depth, _CHILD_PLACES.get(name, _Place.VALUE), resource)
        if name == "not" and not schema and len(self.warnings) > before:
            # What was repaired away would now refuse every value.
            return _ABSENT
        return schema

    def _schema_list(self, name: str, value: Iterable[Any], depth: int, resource: dict[Any, Any]) -> Any:
        place = _CHILD_PLACES.get(name, _Place.VALUE)
        if not self._enter(value, depth):
            return _ABSENT
        schemas = []
        for schema in value:
            if isinstance(schema, (dict, bool)) or name == "prefixItems":
                schemas.append(self._schema(schema, depth + 1, place, resource))
            else:
                self._warn("bad-" + name)
        self._path.discard(id(value))
        return schemas or _ABSENT

    def _names(self, keyword: str, value: Iterable[Any]) -> list[str]:
        names: dict[str, None] = {}
        if not value or not self._enter(value, 1):
            return []
        for entry in value:
            if isinstance(entry, str):
                names[str.__str__(json_text.replace_surrogates(entry))] = None
            else:
                self._warn("bad-" + keyword)
        self._path.discard(id(value))
        return list(names)

    def _dependent_names(self, value: dict[Any, Any]) -> dict[str, list[str]]:
        dependent: dict[str, list[str]] = {}
        if not value or not self._enter(value, 1):
            return dependent
        for key, names in value.items():
            plain = self._key(key, dependent)
            if plain is None:
                continue
            if isinstance(names, (list, tuple)):
                dependent[plain] = self._names("dependentRequired", names)
            else:
                self._warn("bad-dependentRequired")
        self._path.discard(id(value))
        return dependent

    def _check_default(self, schema: dict[str, Any], depth: int) -> None:
        """Convert or leave out a default that the declared type contradicts."""
        kind = schema.get("type")
        if kind is None or "default" not in schema:
            return
        kinds = kind if isinstance(kind, list) else [kind]
        default = schema["default"]
        if any(fits(default, name) for name in kinds):
            return
        found = [value for name in kinds for value in convert_default(default, name)]
        value = self._value(found[0], depth + 1) if len(found) == 1 else _ABSENT
        if value is _ABSENT:
            del schema["default"]
            self._warn("bad-default")
        else:
            schema["default"] = value
            self._warn("converted-default")

    def _check_required(self, schema: dict[str, Any], raw: dict[Any, Any], place: _Place) -> None:
        """Leave out required names of optional properties, and those that nobody declares."""
        names: list[str] = schema["required"]
        properties = raw.get("properties")
        kept = names
        if isinstance(properties, dict):
            optional = {
                name
                for name in names
                if isinstance(entry := properties.get(name), dict) and truth(entry.get("optional"))
            }
            kept = [name for name in names if name not in optional]
        if _declares_here(schema, place):
            declared = schema.get("properties", {})
            for name in kept:
                if name not in declared:
                    self._warn("unknown-required", name)
            kept = [name for name in kept if name in declared]
        if kept or not names:
            schema["required"] = kept
        else:
            del schema["required"]


def _declares_here(schema: dict[str, Any], place: _Place) -> bool:
    """Whether every required name must be one of the properties beside them."""
    if place is _Place.IN_PLACE or not _DECLARES_ELSEWHERE.isdisjoint(schema):
        return False
    if isinstance(schema.get("additionalProperties"), dict):
        return False
    return (
        place is _Place.ROOT
        or "properties" in schema
        or (place is not _Place.DEFINITION and schema.get("type") == "object")
    )
