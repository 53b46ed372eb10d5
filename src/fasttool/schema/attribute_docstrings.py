"""Strings below the fields of a class -> what they say of the fields.

Python keeps no such strings, so they are read from the source, where there is one.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sys
import textwrap

_MAY_HAVE_SOME = re.compile(r"^[ \t]+\w+[ \t]*:[^\n]*\n(?:[ \t]*\n)*[ \t]+[rRuU]?[\"']", re.MULTILINE)


def attribute_docstrings(kind: type) -> dict[str, str]:
    """Return the docstrings of the annotated fields of a class and its bases, by name."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if "__annotations__" in vars(base):
            found.update(_of_class(base))
    return found


def _of_class(kind: type) -> dict[str, str]:
    source = _source(kind)
    # Parsing costs more than looking: most classes have none.
    if source is None or _MAY_HAVE_SOME.search(source) is None:
        return {}
    try:
        definition = ast.parse(textwrap.dedent(source)).body[0]
    except (SyntaxError, IndexError):
        return {}
    if not isinstance(definition, ast.ClassDef):
        return {}
    found: dict[str, str] = {}
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        ):
            found[field.target.id] = inspect.cleandoc(below.value.value)
    return found


def _source(kind: type) -> str | None:
    """Return the lines of a class; the last definition of its name in its module, at its depth."""
    module = sys.modules.get(kind.__module__)
    path = getattr(module, "__file__", None)
    if path is None:
        return None
    lines = linecache.getlines(path)
    depth = kind.__qualname__.count(".")
    head = re.compile(rf"(\s*)class\s+{re.escape(kind.__name__)}\b")
    for start in range(len(lines) - 1, -1, -1):
        match = head.match(lines[start])
        if match is None or bool(match[1]) != bool(depth):
            continue
        indent = len(match[1])
        end = start + 1
        while end < len(lines) and (
            not lines[end].strip()
            or len(lines[end]) - len(lines[end].lstrip()) > indent
            or lines[end].lstrip().startswith((")", "#"))
        ):
            end += 1
        return "".join(lines[start:end])
    return None
