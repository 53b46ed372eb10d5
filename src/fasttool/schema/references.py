"""Where the references of a foreign JSON Schema point to: pointers, anchors and ids inside one document."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin

from fasttool import json_text
from fasttool.schema.keywords import ANNOTATIONS, DEFINITIONS, DROPPED, IN_PLACE_LISTS, IN_PLACE_SCHEMAS

# Ids that are deeper or longer are no ids: joining them would cost more than the schema is worth.
_MAX_DEPTH = 200
_MAX_URI = 2000


class Definition(NamedTuple):
    """A raw schema that belongs below ``$defs`` of the root; its references count from ``resource``."""

    name: str
    schema: Any
    resource: dict[Any, Any]


class References:
    """The referable places of one raw schema, each an entry of ``$defs`` in the result.

    What is referred to by another way than ``#/$defs/NAME`` gets an entry of its own, which then
    waits in ``pending``.

    Args:
        root: the raw schema; it is read, never changed.
    """

    def __init__(self, root: dict[Any, Any]) -> None:
        self._root = root
        self._direct: dict[tuple[str, str], str] = {}
        # Targets by identity: a schema that is reached by several ways gets one name.
        self._names: dict[int, str] = {}
        self._taken: set[str] = set()
        self._clashes: dict[str, int] = {}
        self._anchors: dict[str, Any] | None = None
        self._documents: dict[str, dict[Any, Any]] = {}
        self._uris: dict[int, str] = {}
        self.definitions: list[Definition] = []
        self.pending: deque[Definition] = deque()
        for keyword in DEFINITIONS:
            entries = root.get(keyword)
            for key, schema in entries.items() if isinstance(entries, dict) else ():
                if not isinstance(key, str):
                    continue
                name = self._free_name(key)
                self._direct[keyword, key] = name
                if isinstance(schema, dict):
                    self._names.setdefault(id(schema), name)
                self.definitions.append(Definition(name, schema, root))

    def canonical(self, reference: str, resource: dict[Any, Any]) -> str | None:
        """Return ``#`` or ``#/$defs/NAME`` for what ``reference`` points to, None if that is not here.

        Args:
            reference: the value of a ``$ref``.
            resource: the nearest schema around it that has an ``$id``, or the root.
        """
        found = self._find(reference, resource)
        if found is None:
            return None
        target, around, tokens = found
        if target is self._root:
            return "#"
        name = self._direct.get((tokens[0], tokens[1])) if len(tokens) == 2 and around is self._root else None
        if name is None:
            name = self._names.get(id(target))
        if name is None:
            name = self._names[id(target)] = self._free_name(tokens[-1] if tokens else "schema")
            self.pending.append(Definition(name, target, around))
        return "#/$defs/" + name.replace("~", "~0").replace("/", "~1").replace("%", "%25")

    def target(self, reference: str) -> Any:
        """Return the raw schema that a reference of the root points to, None if it is not in the document."""
        found = self._find(reference, self._root)
        return None if found is None else found[0]

    def is_remote(self, reference: str, resource: dict[Any, Any]) -> bool:
        """Return whether ``reference`` names a document other than this one."""
        document = reference.partition("#")[0]
        return bool(document) and self._document(document, resource) is None

    def _find(self, reference: str, resource: dict[Any, Any]) -> tuple[Any, dict[Any, Any], list[str]] | None:
        """The target, the resource around it, and the tokens of the pointer to it."""
        document, _, fragment = reference.partition("#")
        start: dict[Any, Any] | None = resource
        if document:
            start = self._document(document, resource)
        if start is None:
            return None
        pointer = unquote(fragment)
        if not pointer:
            return start, start, []
        if not pointer.startswith("/"):
            self._index()
            target = (self._anchors or {}).get(pointer)
            return None if target is None else (target, resource, [pointer])
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]
        found = _walk(start, tokens)
        if found is None and start is not self._root:
            # Many schemas put an $id inside and still count from the root.
            found = _walk(self._root, tokens)
        return None if found is None else (*found, tokens)

    def _free_name(self, key: str) -> str:
        wanted = name = json_text.replace_surrogates(key)
        while name in self._taken:
            count = self._clashes[wanted] = self._clashes.get(wanted, 1) + 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        return name

    def _document(self, document: str, resource: dict[Any, Any]) -> dict[Any, Any] | None:
        self._index()
        found = self._documents.get(document)
        if found is None:
            found = self._documents.get(_join(self._uris.get(id(resource), ""), document))
        return found

    def _index(self) -> None:
        """Find all anchors and ids, in one walk that is made only when a reference needs them."""
        if self._anchors is not None:
            return
        anchors: dict[str, Any] = {}
        seen: set[int] = set()
        # A queue, so that of two equal anchors the outer one counts.
        waiting: deque[tuple[Any, str, int]] = deque([(self._root, "", 0)])
        while waiting:
            node, base, depth = waiting.popleft()
            if id(node) in seen or depth > _MAX_DEPTH:
                continue
            seen.add(id(node))
            if isinstance(node, dict):
                identifier = node.get("$id")
                if isinstance(identifier, str) and len(identifier) <= _MAX_URI:
                    if identifier.startswith("#"):
                        anchors.setdefault(identifier[1:], node)
                    else:
                        base = _join(base, identifier.rstrip("#"))
                        self._uris[id(node)] = base
                        self._documents.setdefault(base, node)
                        self._documents.setdefault(identifier.rstrip("#"), node)
                for keyword in ("$anchor", "$dynamicAnchor"):
                    if isinstance(name := node.get(keyword), str):
                        anchors.setdefault(name, node)
            entries = node.values() if isinstance(node, dict) else node
            waiting.extend(
                (entry, base, depth + 1) for entry in entries if isinstance(entry, (dict, list, tuple))
            )
        self._anchors = anchors


def is_resource(schema: dict[Any, Any]) -> bool:
    """Return whether references below ``schema`` count from it, because it has an ``$id``."""
    identifier = schema.get("$id")
    return isinstance(identifier, str) and not identifier.startswith("#")


def merged(target: dict[Any, Any], siblings: dict[Any, Any], reference: str) -> dict[Any, Any]:
    """Return what a reference points to, together with the keywords beside the reference.

    Where both say something that cannot be one keyword, the reference moves into ``allOf``.
    """
    result = {key: value for key, value in target.items() if key not in DEFINITIONS}
    conflict = False
    for key, value in siblings.items():
        other = result.get(key)
        if key == "properties" and isinstance(value, dict) and isinstance(other, dict):
            conflict = conflict or not other.keys().isdisjoint(value)
            result[key] = {**other, **value}
        elif (
            key in ("required", "allOf")
            and isinstance(value, (list, tuple))
            and isinstance(other, (list, tuple))
        ):
            result[key] = [*other, *value]
        else:
            same = key not in result or key in ANNOTATIONS or key in DROPPED or other is value
            conflict = conflict or not (same or (type(other) is type(value) is str and other == value))
            result[key] = value
    if conflict:
        parts = result.get("allOf")
        result["allOf"] = [*(parts if isinstance(parts, (list, tuple)) else ()), {"$ref": reference}]
    return result


def break_cycles(root: dict[str, Any]) -> Iterator[str]:
    """Remove each reference of a normal schema that leads back to itself without going into a value.

    Such a schema says nothing, and a validator would never come back from it.

    Yields:
        The references that were removed.
    """
    bodies: dict[str, Any] = {"#": root}
    for name, body in root.get("$defs", {}).items():
        bodies["#/$defs/" + name.replace("~", "~0").replace("/", "~1").replace("%", "%25")] = body
    finished: set[str] = set()
    for start in bodies:
        if start in finished:
            continue
        path = {start}
        stack = [(start, iter(list(_edges(bodies[start]))))]
        while stack:
            place, edges = stack[-1]
            for target, holder, keyword in edges:
                if target in path:
                    if keyword in holder:
                        del holder[keyword]
                        yield target
                elif target in bodies and target not in finished:
                    path.add(target)
                    stack.append((target, iter(list(_edges(bodies[target])))))
                    break
            else:
                stack.pop()
                path.discard(place)
                finished.add(place)


def _edges(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The references that apply in place, each with the keyword to remove in order to cut it."""
    waiting: list[tuple[dict[str, Any], tuple[dict[str, Any], str] | None]] = [(body, None)]
    while waiting:
        node, cut = waiting.pop()
        for keyword in ("$ref", "$dynamicRef"):
            if keyword in node:
                yield (node[keyword], *(cut or (node, keyword)))
        for keyword in IN_PLACE_LISTS:
            waiting.extend((part, cut) for part in node.get(keyword, ()))
        for keyword in IN_PLACE_SCHEMAS:
            if keyword in node:
                # `not: {}` would refuse everything: there the whole keyword goes.
                waiting.append((node[keyword], cut or ((node, keyword) if keyword == "not" else None)))
        waiting.extend((part, cut) for part in node.get("dependentSchemas", {}).values())


def _walk(start: dict[Any, Any], tokens: list[str]) -> tuple[Any, dict[Any, Any]] | None:
    """The schema at a pointer, and the resource around it."""
    node: Any = start
    around = start
    for token in tokens:
        if isinstance(node, dict) and token in node:
            node = node[token]
        elif isinstance(node, (list, tuple)) and token.isascii() and token.isdecimal() and len(token) < 10:
            index = int(token)
            if index >= len(node):
                return None
            node = node[index]
        else:
            return None
        if isinstance(node, dict) and is_resource(node):
            around = node
    return (node, around) if isinstance(node, (dict, bool)) else None


def _join(base: str, document: str) -> str:
    if not base or len(base) > _MAX_URI:
        return document
    try:
        return urljoin(base, document)
    except ValueError:  # such as an unfinished IPv6 address
        return document
