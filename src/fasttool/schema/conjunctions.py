"""What applies to one value of a foreign schema together: a schema, its references and its ``allOf``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from fasttool.schema.keywords import ANNOTATIONS, DEFINITIONS, DROPPED, IN_PLACE_LISTS, IN_PLACE_SCHEMAS

Schema = Mapping[str, Any]
TYPES = ("boolean", "integer", "number", "string", "array", "object", "null")
_REFERENCES = ("$ref", "$dynamicRef")
_SILENT = frozenset([*ANNOTATIONS, *DEFINITIONS, *DROPPED])
MAX_PARTS = 500
"""Parts that are looked at; with more of them nothing is known."""


class Conjunctions:
    """Finds the parts of schemas that apply together, inside one document.

    Args:
        root: the document.
    """

    def __init__(self, root: Schema) -> None:
        self._root = root

    def target(self, reference: Any) -> Any:
        """Return what a reference points to; True, which says nothing, for what is not here."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return True
        place: Any = self._root
        for part in reference[1:].split("/")[1:] if reference != "#" else ():
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(place, Mapping) and key in place:
                place = place[key]
            elif isinstance(place, list) and key.isascii() and key.isdecimal() and int(key[:9]) < len(place):
                place = place[int(key[:9])]
            else:
                return True
        return place if reference == "#" or reference.startswith("#/") else True

    def followed(self, schema: Any) -> Any:
        """Return what a schema stands for that is only a reference, or a list of one; True for a circle."""
        met: set[int] = set()
        while isinstance(schema, Mapping) and id(schema) not in met:
            met.add(id(schema))
            words = [keyword for keyword in schema if keyword not in _SILENT]
            if len(words) != 1:
                return schema
            value = schema[words[0]]
            if words[0] in _REFERENCES:
                schema = self.target(value)
            elif words[0] in IN_PLACE_LISTS and isinstance(value, list) and len(value) == 1:
                schema = value[0]
            else:
                return schema
        return True

    def parts(self, schemas: Iterable[Any]) -> list[Schema]:
        """Return the schemas and all that applies together with them, each once."""
        found: list[Schema] = []
        met: set[int] = set()
        waiting = list(reversed(list(schemas)))
        while waiting and len(found) < MAX_PARTS:
            schema = waiting.pop()
            if not isinstance(schema, Mapping) or id(schema) in met:
                continue
            met.add(id(schema))
            found.append(schema)
            together = schema.get("allOf")
            waiting.extend(reversed(together) if isinstance(together, list) else ())
            waiting.extend(self.target(schema[keyword]) for keyword in _REFERENCES if keyword in schema)
        return found

    def conditional_names(self, parts: Iterable[Schema]) -> set[str] | None:
        """Return the names that alternatives and conditions of the parts declare; None for any name."""
        names: set[str] = set()
        met: set[int] = set()
        waiting: list[Any] = [entry for part in parts for entry in _conditional(part)]
        while waiting:
            schema = waiting.pop()
            if not isinstance(schema, Mapping) or id(schema) in met:
                continue
            met.add(id(schema))
            if "patternProperties" in schema or len(met) > MAX_PARTS:
                return None
            properties = schema.get("properties")
            names.update(properties if isinstance(properties, Mapping) else ())
            waiting.extend(_conditional(schema))
            together = schema.get("allOf")
            waiting.extend(together if isinstance(together, list) else ())
            waiting.extend(self.target(schema[keyword]) for keyword in _REFERENCES if keyword in schema)
        return names


def _conditional(schema: Schema) -> Iterator[Any]:
    for keyword in ("anyOf", "oneOf"):
        members = schema.get(keyword)
        yield from members if isinstance(members, list) else ()
    for keyword in IN_PLACE_SCHEMAS:
        if keyword != "not":
            yield schema.get(keyword)
    dependent = schema.get("dependentSchemas")
    yield from dependent.values() if isinstance(dependent, Mapping) else ()


def says_only(schema: Schema, keyword: str) -> bool:
    """Return whether a keyword is all that a schema says of a value."""
    return all(word == keyword or word in _SILENT for word in schema)


def says_nothing(schema: Schema) -> bool:
    """Return whether a schema allows every value."""
    return schema.keys() <= _SILENT


def without(schema: Schema, *keywords: str) -> Schema:
    """Return a schema without some of its keywords."""
    return {keyword: value for keyword, value in schema.items() if keyword not in keywords}


def common_types(parts: Sequence[Schema]) -> list[str] | None:
    """Return the JSON types that all parts allow, in the order of the first; None where any type may be.

    What is unknown, or leaves nothing, is read as any type.
    """
    common: list[str] | None = None
    for part in parts:
        kinds = part.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if not kinds or any(kind not in TYPES for kind in kinds):
            if kinds != [None]:
                return None
            continue
        if common is None:
            common = list(dict.fromkeys(kinds))
            continue
        narrowed = [kind for kind in common if kind in kinds or (kind == "integer" and "number" in kinds)]
        if "integer" in kinds and "number" in common and "integer" not in narrowed:
            narrowed.append("integer")
        common = narrowed
    if common is None:
        return _implied(parts)
    if "number" in common and "integer" in common:
        common.remove("integer")
    return common or None


def _implied(parts: Iterable[Schema]) -> list[str] | None:
    """Who lists properties or elements means an object or an array; JSON Schema would allow others."""
    for part in parts:
        if isinstance(part.get("properties"), Mapping) or isinstance(part.get("patternProperties"), Mapping):
            return ["object"]
        if isinstance(part.get("items"), Mapping) or isinstance(part.get("prefixItems"), list):
            return ["array"]
    return None
