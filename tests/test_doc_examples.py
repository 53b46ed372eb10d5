"""Every example in the README, in docs/ and in docstrings runs, and says what it claims to say.

In Markdown, a comment on the line above a fence steers it:

* ``<!-- not run: REASON -->`` above a python block: it is compiled, not run;
* ``<!-- output -->`` above a text block: it is what the python block before it prints.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import io
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import fasttool

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PACKAGE = Path(fasttool.__file__).parent
WITH_DOCTESTS = [p for p in sorted(PACKAGE.rglob("*.py")) if ">>> " in p.read_text(encoding="utf-8")]

COMMENT = re.compile(r"\s*<!--\s*(.*?)\s*-->\s*")
NOT_RUN = re.compile(r"not run:\s*\S.*")
FENCE = re.compile(r"( *)(`{3,}|~{3,}) *([\w+-]*)[^`]*")


class Block(NamedTuple):
    """A fenced block: its language, text, first line (from 1), and the comment above its fence."""

    language: str
    text: str
    line: int
    comment: str


class Example(NamedTuple):
    """A python block; ``output`` is what it must print, None where the document does not say."""

    code: str
    line: int
    runs: bool
    output: str | None


def fenced_blocks(text: str) -> list[Block]:
    """The fenced blocks of a Markdown text.

    Raises:
        ValueError: a fence is never closed.
    """
    blocks = []
    comment = ""
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        opening = FENCE.fullmatch(line)
        if opening is None:
            if line.strip():
                match = COMMENT.fullmatch(line)
                comment = match[1] if match else ""
            continue
        indent, fence, language = opening.groups()
        content: list[str] = []
        for _, inner in lines:
            closing = inner.strip()
            if closing.startswith(fence) and set(closing) == {fence[0]}:
                break
            content.append(inner[len(indent) :] if inner.startswith(indent) else inner.lstrip())
        else:
            raise ValueError(f"the fence in line {number} is never closed")
        blocks.append(Block(language, "".join(f"{part}\n" for part in content), number + 1, comment))
        comment = ""
    return blocks


def examples(text: str) -> list[Example]:
    """The python blocks of a Markdown text.

    Raises:
        ValueError: an output has no block that prints it, or a block is not run for no reason.
    """
    found: list[Example] = []
    before: Block | None = None
    for block in fenced_blocks(text):
        if block.language == "python":
            if block.comment.startswith("not run") and not NOT_RUN.fullmatch(block.comment):
                raise ValueError(f"the block in line {block.line} is not run, and does not say why")
            found.append(Example(block.text, block.line, not block.comment.startswith("not run"), None))
        elif block.comment == "output":
            if before is None or before.language != "python" or not found[-1].runs:
                raise ValueError(f"the output in line {block.line} follows no python block that runs")
            found[-1] = found[-1]._replace(output=block.text)
        before = block
    return found


def run_examples(document: str, name: str, found: list[Example]) -> None:
    """Run the examples of a document in one module, in order; raises what the first failing one raises."""
    module = ModuleType(f"examples_of_{re.sub(r'[^0-9A-Za-z]', '_', name)}")
    sys.modules[module.__name__] = module  # type hints of an example are looked up there
    try:
        for example in found:
            # Empty lines in front make a traceback name the line of the document.
            code = compile("\n" * (example.line - 1) + example.code, document, "exec")
            if not example.runs:
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(code, vars(module))
            if example.output is not None:
                assert printed.getvalue() == example.output, f"printed by {document}:{example.line}"
    finally:
        del sys.modules[module.__name__]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_document(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = examples(path.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    run_examples(str(path), path.relative_to(ROOT).as_posix(), found)


def test_blocks_are_found() -> None:
    text = """\
# Title
<!-- not run: needs a key -->

```python
a = 1
```
```bash
pip install x
```
<!-- output -->
~~~ text
not closed by ```
~~~
1. in a list

   ```python title="x"
   if a:

       b = 2
   ```

<!-- some remark -->
words
````markdown
```python
inner = 1
```
````
"""
    assert fenced_blocks(text) == [
        Block("python", "a = 1\n", 5, "not run: needs a key"),
        Block("bash", "pip install x\n", 8, ""),
        Block("text", "not closed by ```\n", 12, "output"),
        Block("python", "if a:\n\n    b = 2\n", 17, ""),
        Block("markdown", "```python\ninner = 1\n```\n", 25, ""),
    ]


def test_examples_share_a_module_and_print_what_they_claim() -> None:
    text = """\
```python
from dataclasses import dataclass
from typing import get_type_hints

@dataclass
class City:
    name: "str"
    twin: "City | None" = None
```
<!-- not run: never -->
```python
raise SystemExit
```
```python
print(get_type_hints(City)["twin"] == City | None)
print("上海")
```
<!-- output -->
```text
True
上海
```
"""
    found = examples(text)
    assert [(example.line, example.runs, example.output) for example in found] == [
        (2, True, None),
        (12, False, None),
        (15, True, "True\n上海\n"),
    ]
    before = set(sys.modules)
    run_examples("x.md", "x.md", found)
    assert not any(name.startswith("examples_of_") for name in set(sys.modules) - before)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("```python\nprint(1)\n```\n<!-- output -->\n```text\n2\n```", AssertionError),
        ("```python\nprint(1)\n```\n<!-- output -->\n```text\n```", AssertionError),
        ("```python\n1 / 0\n```", ZeroDivisionError),
        ("```python\na = 1\n```\n```python\nassert a == 2\n```", AssertionError),
        ("<!-- not run: a sketch -->\n```python\nfor\n```", SyntaxError),
        ("<!-- not run -->\n```python\n1\n```", ValueError),
        ("<!-- not run: -->\n```python\n1\n```", ValueError),
        ("<!-- not run: x -->\n```python\n1\n```\n<!-- output -->\n```text\n1\n```", ValueError),
        ("<!-- output -->\n```text\n1\n```", ValueError),
        ("```python\nprint(1)\n```\n```bash\n```\n<!-- output -->\n```text\n1\n```", ValueError),
        ("```python\nprint(1)\n", ValueError),
    ],
)
def test_a_wrong_document_fails(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        run_examples("x.md", "x.md", examples(text))


def test_a_traceback_names_the_line_of_the_document() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_examples("x.md", "x.md", examples("words\n\n```python\na = 1\na / 0\n```"))
    frame = traceback.extract_tb(caught.tb)[-1]
    assert (frame.filename, frame.lineno) == ("x.md", 5)


def docstring_tests(source: str, scope: dict[str, object], name: str) -> list[doctest.DocTest]:
    """The doctests in a module's source, found there so that compiled and wrapped objects count too."""
    parser = doctest.DocTestParser()
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text and ">>> " in text:
                line = node.body[0].lineno - 1
                label = f"{name}.{getattr(node, 'name', '__doc__')}"
                found.append(parser.get_doctest(text, dict(scope), label, name, line))
    return found


def doctest_failures(tests: list[doctest.DocTest]) -> str:
    """What the failing ones among some doctests report; empty if none fails."""
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for test in tests:
        runner.run(test, out=report.write)
    return report.getvalue()


@pytest.mark.parametrize("path", WITH_DOCTESTS, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_docstrings(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    tests = docstring_tests(path.read_text(encoding="utf-8"), vars(importlib.import_module(name)), name)
    monkeypatch.chdir(tmp_path)
    assert doctest_failures(tests) == ""


def test_a_wrong_docstring_fails() -> None:
    source = '''\
"""Module.

>>> one
1
"""

class A:
    async def f(self):
        """Do.

        >>> one + 1
        3
        """
'''
    tests = docstring_tests(source, {"one": 1}, "m")
    assert [test.name for test in tests] == ["m.__doc__", "m.f"]
    report = doctest_failures(tests)
    assert report.count("Failed example") == 1
    assert "Got:\n    2" in report
