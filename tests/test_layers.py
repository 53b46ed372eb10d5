"""Imports only go down: the arrows between the parts of the package, no cycles, a light import."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import fasttool

PACKAGE = Path(fasttool.__file__).parent

FACE = ""  # the package's own __init__
LAYERS = (
    ("errors", "json_text", "specification", "messages", "message_format"),
    ("_ext",),
    ("schema", "coercion"),
    ("tools", "memory", "models"),
    ("loop",),
    ("service",),
    (FACE,),
    ("evaluation", "cli"),
    ("__main__",),
)
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}

# Parts of one layer do not know each other, but for these.
SIDEWAYS = {("coercion", "schema"), ("cli", "evaluation")}

# Sources of tools stand beside the loop, which knows none of them by name.
SOURCES = {"search", "mcp", "skills"}
SOURCES_KNOWN_TO = {FACE, "evaluation", "cli"}

HEAVY = (
    "aiohttp",
    "asyncio",
    "docstring_parser",
    "faiss",
    "httpx",
    "json_repair",
    "httpcore",
    "mcp",
    "numpy",
    "opentelemetry",
    "pydantic",
    "pydantic_core",
    "requests",
    "rich",
    "sqlite3",
    "urllib3",
)


class Import(NamedTuple):
    target: str
    line: int
    at_load: bool


def modules_of(package: Path) -> dict[str, Path]:
    """The modules of a package by dotted name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def statements(node: ast.AST, at_load: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """Every node below ``node``, with whether it runs when the module is loaded."""
    for child in ast.iter_child_nodes(node):
        deferred = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) or (
            isinstance(node, ast.If) and child in node.body and is_type_checking(node.test)
        )
        yield child, at_load and not deferred
        yield from statements(child, at_load and not deferred)


def imports_of(module: str, path: Path, modules: dict[str, Path]) -> Iterator[Import]:
    """What a module imports of its own package, in functions and for type checkers too."""
    package = module.split(".")[0]
    for node, at_load in statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                parts = module.split(".")
                keep = len(parts) - node.level + (path.name == "__init__.py")
                origin = ".".join([*parts[:keep], *([node.module] if node.module else [])])
            names = [f"{origin}.{alias.name}" for alias in node.names]
            targets = [name if name in modules else origin for name in names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            names = [argument.value for argument in node.args[:1] if isinstance(argument, ast.Constant)]
            targets = [name for name in names if isinstance(name, str)]
        else:
            continue
        for target in targets:
            if target.split(".")[0] == package:
                yield Import(target, getattr(node, "lineno", 0), at_load)


def part_of(module: str) -> str:
    """The first element of a module's path in the package; FACE for the package itself."""
    return module.split(".")[1] if "." in module else FACE


def objection(importer: str, imported: str) -> str | None:
    """Why one part may not import another; None if it may."""
    if importer in (imported, FACE):
        return None
    for part in (importer, imported):
        if part not in RANK and part not in SOURCES:
            return f"{part} has no layer yet: give it one in LAYERS"
    if imported in SOURCES:
        known = importer in SOURCES_KNOWN_TO
        return None if known else f"{importer} must not know {imported}, a source of tools"
    if importer in SOURCES:
        below = imported == "tools" or RANK[imported] < RANK["tools"]
        return None if below else f"{importer}, a source of tools, may import tools and what is below"
    if RANK[imported] > RANK[importer]:
        return f"{importer} is below {imported or 'the package itself'}"
    if RANK[imported] == RANK[importer] != 0 and (importer, imported) not in SIDEWAYS:
        return f"{importer} and {imported} are in one layer"
    return None


def violations(package: Path) -> list[str]:
    """Each import in a package that breaks the rules, and the first cycle."""
    modules = modules_of(package)
    found = []
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        graph[module] = set()
        for target, line, at_load in imports_of(module, path, modules):
            if reason := objection(part_of(module), part_of(target)):
                found.append(f"{module}:{line} imports {target}: {reason}")
            if at_load:
                graph[module].add(target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        found.append(f"cycle: {' <- '.join(error.args[1])}")
    return found


def test_the_package_keeps_its_layers() -> None:
    assert violations(PACKAGE) == []


def write_package(folder: Path, files: dict[str, str]) -> Path:
    package = folder / "fasttool"
    for name, text in {"__init__.py": "", **files}.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return package


def test_arrows_that_go_down_are_fine(tmp_path: Path) -> None:
    files = {
        "__init__.py": "from fasttool.service import ai_service\nfrom fasttool.search import index",
        "__main__.py": "from fasttool.cli import main",
        "cli/__init__.py": "import fasttool\nfrom fasttool import evaluation, mcp",
        "coercion.py": "from fasttool.schema import forms\nimport orjson",
        "errors.py": "",
        "evaluation.py": "from fasttool.service import ai_service",
        "loop.py": "from fasttool import tools\nfrom .models import protocol",
        "mcp.py": "from fasttool.schema.forms import Form\nfrom fasttool.tools import plan",
        "messages.py": "from fasttool.errors import FastToolError",
        "models/__init__.py": "from .protocol import ChatModel",
        "models/protocol.py": "from ..messages import ChatRequest",
        "schema/__init__.py": "from fasttool.schema.forms import Form",
        "schema/forms.py": "def later():\n    from fasttool.schema import Form",
        "search/__init__.py": "",
        "search/index.py": "import fasttool.tools.plan",
        "service.py": "from fasttool.loop import run_tools",
        "tools/__init__.py": "from fasttool.tools.plan import ToolPlan",
        "tools/plan.py": "from fasttool import errors",
    }
    assert violations(write_package(tmp_path, files)) == []


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("tools/plan.py", "from fasttool.loop import run_tools", "tools is below loop"),
        ("tools/plan.py", "from ..loop import run_tools", "tools is below loop"),
        ("tools/__init__.py", "from .. import loop", "tools is below loop"),
        ("tools/plan.py", "import fasttool.loop.machine as machine", "tools is below loop"),
        ("tools/plan.py", "def f():\n    from fasttool.loop import run_tools", "tools is below loop"),
        ("tools/plan.py", "if TYPE_CHECKING:\n    import fasttool.loop", "tools is below loop"),
        ("tools/plan.py", "importlib.import_module('fasttool.loop')", "tools is below loop"),
        ("tools/plan.py", "from fasttool.memory import ChatMemory", "in one layer"),
        ("schema/forms.py", "from fasttool.coercion import bind", "in one layer"),
        ("evaluation.py", "from fasttool.cli import main", "in one layer"),
        ("loop/machine.py", "from fasttool.search import index", "a source of tools"),
        ("skills/reader.py", "from fasttool.mcp import client", "a source of tools"),
        ("skills/reader.py", "from fasttool.loop import run_tools", "may import tools and what"),
        ("skills/reader.py", "from fasttool.models import protocol", "may import tools and what"),
        ("loop/machine.py", "from fasttool import tool", "below the package itself"),
        ("helpers.py", "from fasttool import errors", "helpers has no layer yet"),
    ],
)
def test_an_arrow_that_goes_up_is_found(tmp_path: Path, file: str, text: str, complaint: str) -> None:
    stubs = {f"{part}/__init__.py": "" for part in ("loop", "memory", "coercion", "search", "mcp", "models")}
    found = violations(write_package(tmp_path, {**stubs, "errors.py": "", file: text}))
    assert len(found) == 1
    assert complaint in found[0]


@pytest.mark.parametrize(
    ("text", "is_cycle"),
    [
        ("from fasttool.messages import Message", True),
        ("try:\n    from fasttool import messages\nexcept ImportError:\n    raise", True),
        ("class A:\n    from fasttool import messages", True),
        ("def f():\n    from fasttool.messages import Message", False),
        ("if TYPE_CHECKING:\n    import fasttool.messages", False),
        ("if typing.TYPE_CHECKING:\n    pass\nelse:\n    import fasttool.messages", True),
    ],
)
def test_a_cycle_is_found(tmp_path: Path, text: str, is_cycle: bool) -> None:
    files = {"messages.py": "from fasttool import specification", "specification.py": text}
    found = violations(write_package(tmp_path, files))
    assert [entry.startswith("cycle: ") for entry in found] == [True] * is_cycle


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = (
        "import sys; before = set(sys.modules); import fasttool; "
        f"print(sorted((set(sys.modules) - before) & set({HEAVY!r})), 'fasttool' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"
