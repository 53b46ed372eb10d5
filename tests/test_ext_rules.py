"""Slips in a .pxd that Cython does not report, and that would only cost speed."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import fasttool._ext as core

PACKAGE = Path(core.__file__).parent
LOCALS = re.compile(r"@cython\.locals\(([^)]*)\)\s*c(?:p)?def\s[^(\n]*?(\w+)\(")
C_FUNCTION = re.compile(r"^cdef\s(?!class\b)[^(\n]*?(\w+)\(", re.MULTILINE)
C_VARIABLE = re.compile(r"^cdef\s(?!class\b)[^(\n#]*?\b(\w+(?:\s*,\s*\w+)*)\s*(?:#.*)?$", re.MULTILINE)
C_CLASS = re.compile(r"^cdef class (\w+)[^\n]*:\n((?:[ \t]+[^\n]*\n|\n)*)", re.MULTILINE)
C_ATTRIBUTE = re.compile(
    r"^\s+cdef\s+(?!public\b|readonly\b)[^(\n#]*?\b(\w+(?:\s*,\s*\w+)*)\s*(?:#.*)?$", re.MULTILINE
)


def declarations(name: str) -> str:
    return (PACKAGE / f"{name}.pxd").read_text(encoding="utf-8")


def split_names(found: list[str]) -> set[str]:
    return {name.strip() for names in found for name in names.split(",")}


def hidden_attributes(declared: str) -> dict[str, set[str]]:
    """Attributes that only C code sees, by class."""
    return {name: split_names(C_ATTRIBUTE.findall(body)) for name, body in C_CLASS.findall(declared)}


def local_names(source: str) -> dict[str, set[str]]:
    """Names that each function of a module assigns or takes, by function."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            stored = {
                n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            found.setdefault(node.name, set()).update(stored | {a.arg for a in arguments})
    return found


def assigned_attributes(source: str) -> dict[str, set[str]]:
    """Attributes of ``self`` that each class of a module assigns, by class."""
    return {
        node.name: {
            n.attr
            for n in ast.walk(node)
            if isinstance(n, ast.Attribute)
            and isinstance(n.ctx, ast.Store)
            and isinstance(n.value, ast.Name)
            and n.value.id == "self"
        }
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    }


def module_names(source: str) -> set[str]:
    """Names that a module assigns at its top."""
    found = set()
    for statement in ast.parse(source).body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            found |= {
                n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
    return found


def slips(declared: str, source: str) -> list[str]:
    """Each name that a .pxd types and its .py does not have."""
    functions, classes = local_names(source), assigned_attributes(source)
    variables = split_names(C_VARIABLE.findall(declared))
    found = [f"the module never sets {name}" for name in sorted(variables - module_names(source))]
    for arguments, function in LOCALS.findall(declared):
        typed = set(re.findall(r"(\w+)\s*=", arguments))
        found += [f"{function}() has no {name}" for name in sorted(typed - functions.get(function, set()))]
    for owner, attributes in hidden_attributes(declared).items():
        found += [f"{owner} never sets {name}" for name in sorted(attributes - classes.get(owner, set()))]
    return found


@pytest.mark.parametrize("name", core.AUGMENTED)
def test_what_a_pxd_types_exists(name: str) -> None:
    assert slips(declarations(name), (PACKAGE / f"{name}.py").read_text(encoding="utf-8")) == []


def test_a_slip_is_found() -> None:
    declared = """
cimport cython

cdef int _TEXT, _NUMBER
cdef object _to_int(object value)

@cython.final
cdef class Plan:
    cdef tuple _names, _kind  # two
    cdef readonly int count
    cdef object _lost

    @cython.locals(i=Py_ssize_t, vaule=object)
    cpdef list bind(self, arguments)
"""
    source = """
_TEXT = 1

class Plan:
    def __init__(self, names):
        self._names = names
        self._kinds = names

    def bind(self, arguments):
        for i in range(3):
            value = arguments[i]
"""
    assert C_FUNCTION.findall(declared) == ["_to_int"]
    assert slips(declared, source) == [
        "the module never sets _NUMBER",
        "bind() has no vaule",
        "Plan never sets _kind",
        "Plan never sets _lost",
    ]


def test_every_module_is_listed() -> None:
    assert {path.stem for path in PACKAGE.glob("*.pxd")} == set(core.AUGMENTED)
    assert {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"} == {*core.AUGMENTED, *core.PLAIN}


def test_no_module_waits_or_imports_cython() -> None:
    for name in core.AUGMENTED:
        for node in ast.walk(ast.parse((PACKAGE / f"{name}.py").read_text(encoding="utf-8"))):
            assert not isinstance(node, (ast.AsyncFunctionDef, ast.Await)), f"async code in {name}.py"
            if isinstance(node, ast.Import):
                assert "cython" not in {alias.name.split(".")[0] for alias in node.names}, f"{name}.py"


@pytest.mark.ext
@pytest.mark.skipif(not all(core.compiled_modules().values()), reason="not compiled here")
@pytest.mark.parametrize("name", core.AUGMENTED)
def test_compiled_with_its_types(name: str) -> None:
    """Without its .pxd (left out of an sdist, say) a module still compiles, untyped and slow."""
    module, declared = importlib.import_module(f"fasttool._ext.{name}"), declarations(name)
    classes = hidden_attributes(declared)
    hidden = {*C_FUNCTION.findall(declared), *split_names(C_VARIABLE.findall(declared))}
    assert hidden or classes
    assert [name for name in sorted(hidden) if hasattr(module, name)] == []
    for owner, attributes in classes.items():
        kind = getattr(module, owner)
        assert [attribute for attribute in attributes if hasattr(kind, attribute)] == []
        with pytest.raises(TypeError):
            kind.note = "a C class takes no new attributes"
