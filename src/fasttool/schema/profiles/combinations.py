"""Schemas that are put together of others (``allOf``, ``anyOf``, ``oneOf``), written as one object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fasttool.schema.keywords import ANNOTATIONS
from fasttool.schema.profiles.lowered import Notes
from fasttool.schema.profiles.wording import described, sentence, written

_MAX_PARTS = 1_000
_MAX_DEPTH = 20
_ALTERNATIVES = ("anyOf", "oneOf")


class Combinations:
    """Folds the parts of a combined schema into it.

    Folding widens: what only one alternative demands is told in the description. Bounded, since parts
    can refer to parts that refer to parts.

    Args:
        root: the whole schema, in normal form; references are looked up in it.
        notes: gets what was done.
    """

    def __init__(self, root: Mapping[str, Any], notes: Notes) -> None:
        self._definitions: Mapping[str, Any] = root.get("$defs", {})
        self._root = root
        self._notes = notes
        self._left = _MAX_PARTS
        self.moved_properties = False
        """Whether an object has got properties that its parts or alternatives declare."""

    def target(self, reference: str) -> dict[str, Any]:
        """Return what a reference of a normal schema points to, without its definitions."""
        if reference == "#":
            return {key: value for key, value in self._root.items() if key != "$defs"}
        name = definition_name(reference)
        found = None if name is None else self._definitions.get(name)
        return found if isinstance(found, dict) else {}

    def joined(self, schema: dict[str, Any], path: str, depth: int = 0) -> dict[str, Any]:
        """Return a schema with the parts of its ``allOf`` in it."""
        parts = schema.get("allOf")
        if not isinstance(parts, list):
            return schema
        result = {key: value for key, value in schema.items() if key != "allOf"}
        if len(parts) == 1 and ANNOTATIONS.issuperset(result):
            return {**parts[0], **result}  # also a lone reference, which stays one
        for part in parts:
            view = self._view(part, path, depth)
            result = result if view is None else self._with_part(result, view, path)
        self._notes.add(path, "allOf is written as one schema.")
        return result

    def flat(self, schema: dict[str, Any], path: str, depth: int = 0) -> dict[str, Any]:
        """Return an object schema with all its parts and alternatives in its properties."""
        result = self.joined(schema, path, depth)
        for keyword in _ALTERNATIVES:
            members = result.get(keyword)
            if not isinstance(members, list):
                continue
            result = {key: value for key, value in result.items() if key != keyword}
            views = [view for member in members if (view := self._view(member, path, depth)) is not None]
            objects = [view for view in views if "object" in _names(view.get("type", "object"))]
            result = self._with_alternatives(result, objects, keyword, path)
            self._notes.add(
                path, f"{keyword} is written as one object; the description tells the alternatives."
            )
        return result

    def _view(self, part: Any, path: str, depth: int) -> dict[str, Any] | None:
        """The part with what it refers to, flat; None where that is too much."""
        self._left -= 1
        if not isinstance(part, dict):
            return None
        if self._left < 0 or depth > _MAX_DEPTH:
            self._notes.add(path, "a combined part is left out: there are too many.")
            return None
        seen = 0
        while "$ref" in part and seen < _MAX_DEPTH:
            seen += 1
            siblings = {key: value for key, value in part.items() if key != "$ref"}
            part = {**self.target(part["$ref"]), **siblings}
        part = {key: value for key, value in part.items() if key != "$ref"}
        return self.flat(part, path, depth + 1)

    def _with_part(self, schema: dict[str, Any], part: dict[str, Any], path: str) -> dict[str, Any]:
        result = dict(schema)
        texts: list[str] = []
        for key, value in part.items():
            own = result.get(key)
            if key == "properties" and isinstance(own, dict):
                result[key] = {**own}
                self.moved_properties |= not own.keys() >= value.keys()
                for name, entry in value.items():
                    result[key][name] = _both(own[name], entry) if name in own else entry
            elif key == "required" and isinstance(own, list):
                result[key] = list(dict.fromkeys([*own, *value]))
            elif key == "additionalProperties" and value is False:
                if "properties" not in result:
                    result.setdefault(key, value)
            elif key not in result:
                result[key] = value
                self.moved_properties |= key == "properties"
            elif key == "type":
                common = [kind for kind in _names(own) if kind in _names(value)]
                if common:
                    result[key] = common[0] if len(common) == 1 else common
            elif own != value and key not in ANNOTATIONS:
                self._notes.add(path, f"a second {key} is moved to the description.")
                texts.append(sentence(key, value) or "")
        return described(result, [text for text in texts if text])

    def _with_alternatives(
        self, schema: dict[str, Any], views: list[dict[str, Any]], keyword: str, path: str
    ) -> dict[str, Any]:
        if not views:
            return schema
        result = dict(schema)
        variants: dict[str, list[Any]] = {}
        for view in views:
            for name, entry in view.get("properties", {}).items():
                known = variants.setdefault(name, [])
                if entry not in known:
                    known.append(entry)
        properties = dict(result.get("properties", {}))
        for name, entries in variants.items():
            self.moved_properties |= name not in properties
            # What the object itself says of a property holds for every alternative.
            if ANNOTATIONS.issuperset(properties.get(name, {})):
                properties[name] = {**_either(entries), **properties.get(name, {})}
        if properties or "properties" in result:
            result["properties"] = properties
        everywhere = [
            name
            for name in views[0].get("required", ())
            if all(name in view.get("required", ()) for view in views)
        ]
        required = list(dict.fromkeys([*result.get("required", ()), *everywhere]))
        if required:
            result["required"] = required
        if "additionalProperties" not in result and all(
            view.get("additionalProperties") is False for view in views
        ):
            result["additionalProperties"] = False
        others = {
            key
            for view in views
            for key in view
            if key not in ("type", "properties", "required", "additionalProperties")
            and key not in ANNOTATIONS
        }
        for key in sorted(others):
            self._notes.add(path, f"{key} of an alternative is left out.")
        forms = list(dict.fromkeys(_summary(view, result.get("required", ())) for view in views))
        if len(forms) < 2:
            return result
        how = "Exactly one" if keyword == "oneOf" else "At least one"
        return described(result, [f"{how} of these: {'; '.join(forms[:20])}."])


def definition_name(reference: str) -> str | None:
    """Return the name in a reference ``#/$defs/NAME`` of a normal schema, None for another one."""
    if not reference.startswith("#/$defs/"):
        return None
    return reference[8:].replace("%25", "%").replace("~1", "/").replace("~0", "~")


def _names(kind: Any) -> list[Any]:
    return kind if isinstance(kind, list) else [kind]


def _both(left: Any, right: Any) -> Any:
    if left == right or not right:
        return left
    if not left:
        return right
    same = all(left[key] == value for key, value in right.items() if key in left)
    return {**right, **left} if same else {"allOf": [left, right]}


def _either(entries: list[Any]) -> dict[str, Any]:
    """One schema for all that alternatives say of a property; the tags that tell them apart as one list."""
    if len(entries) == 1:
        return dict(entries[0])
    lists = [entry.get("enum", [entry["const"]] if "const" in entry else None) for entry in entries]
    kinds = {written(entry.get("type")) for entry in entries}
    if all(isinstance(values, list) for values in lists) and len(kinds) == 1:
        values: list[Any] = []
        for found in lists:
            values += [value for value in found or () if not any(_same(value, known) for known in values)]
        merged = {key: value for key, value in entries[0].items() if key not in ("const", "enum")}
        return {**merged, "enum": values}
    return {"anyOf": entries}


def _same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and left == right


def _summary(view: dict[str, Any], common: Any) -> str:
    """What tells an alternative apart: the names that it requires, with a value where it has one only."""
    words = []
    for name in view.get("required", ()):
        entry = view.get("properties", {}).get(name, {})
        values = entry.get("enum", [entry["const"]] if "const" in entry else ())
        if len(values) == 1:
            words.append(f"{name} = {written(values[0])}")
        elif name not in common:
            words.append(name)
    return " and ".join(words[:10]) or str(view.get("title") or view.get("description") or "nothing more")
