"""The compiled and the interpreted form of the binder give the same values and the same errors."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from types import ModuleType
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fasttool._ext as core
from fasttool.coercion import binder as binder_module
from fasttool.errors import ToolArgumentsError
from fasttool.json_text import encode
from fasttool.schema.forms import AnyForm, FieldForm
from fasttool.schema.python_types import TypeReader, read_field

FORMS = {"pure": core.load_source("coerce", "tests._differential.coerce")}
if core.compiled_modules()["coerce"]:
    import fasttool._ext.coerce as compiled

    FORMS["compiled"] = compiled


class Color(Enum):
    RED = 1
    green = "g"


@dataclass
class Leaf:
    n: int
    tag: Literal["a", "b"] = "a"


@dataclass
class Tree:
    leaf: Leaf
    children: list[Tree] | None = None
    other: Tree | Leaf | None = None


SCALARS: list[Any] = [
    str,
    int,
    float,
    bool,
    Any,
    None,
    Color,
    Literal["x", 1, True],
    int | str,
    float | bool | None,
    Decimal,
    datetime.date,
    tuple[int, str],
]
TYPES = st.recursive(
    st.sampled_from([*SCALARS, Leaf, Tree]),
    lambda inner: st.one_of(
        inner.map(lambda item: list[item]),
        inner.map(lambda item: tuple[item, ...]),
        inner.map(lambda item: dict[str, item]),
        inner.map(lambda item: dict[int, item]),
        inner.map(lambda item: item | None if item is not None else None),
        st.sampled_from([str, int, float, Color]).map(lambda item: set[item]),
    ),
    max_leaves=4,
)
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        [
            "1",
            " 2 ",
            "1.0",
            "1e3",
            "x",
            "RED",
            "red ",
            "G",
            "true",
            "null",
            "NaN",
            "[1]",
            '{"n": 1}',
            "1e400",
            "٣",
        ]
    ),
)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.sampled_from([2.0**63, -(2.0**64), 1e300, 1.0, -0.0, math.nan]),
        TEXTS,
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.one_of(TEXTS, st.sampled_from(["n", "tag", "leaf", "children", "other"])), inner, max_size=4
        ),
    ),
    max_leaves=10,
)


def binders(annotation: Any, *, extra: bool = False) -> Iterator[tuple[str, Any]]:
    """The binder of ``f(a: annotation, b: annotation = None)`` in each form."""
    fields = [
        read_field(TypeReader(), "a", annotation),
        FieldForm("b", "b", TypeReader().read(annotation), required=False, default=7),
    ]
    for name, module in FORMS.items():
        with pytest.MonkeyPatch.context() as patch:
            for used in ("ArgumentBinder", "Coercer", "MISSING", "OMITTED"):
                patch.setattr(binder_module, used, getattr(module, used))
            yield name, binder_module.argument_binder("t", fields, extra=AnyForm() if extra else None)


def outcome(bind: Callable[[Any], Any], arguments: Any) -> tuple[Any, ...]:
    try:
        value = bind(arguments)
    except ToolArgumentsError as error:
        return "error", str(error), [(problem.kind, problem.path) for problem in error.problems]
    return "value", repr(value), types_of(value)


def types_of(value: Any) -> Any:
    if isinstance(value, dict):
        return dict, [(type(name), types_of(item)) for name, item in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [types_of(item) for item in value]
    return type(value)


@given(annotation=TYPES, value=VALUES, other=VALUES, text=st.booleans(), extra=st.booleans())
def test_the_forms_agree(annotation: Any, value: Any, other: Any, text: bool, extra: bool) -> None:
    arguments: Any = {"a": value, "b": other}
    if extra:
        arguments["c"] = other
    if text:
        arguments = encode(arguments).decode()
    outcomes = {name: outcome(binder.bind, arguments) for name, binder in binders(annotation, extra=extra)}
    assert len(set(map(repr, outcomes.values()))) == 1, outcomes


@given(annotation=TYPES, text=st.text(alphabet='{}[]",:\\ an1.0e-trulfsx\n`', max_size=24))
def test_the_forms_agree_on_broken_text(annotation: Any, text: str) -> None:
    for arguments in (text, '{"a": ' + text + "}"):
        outcomes = {name: outcome(binder.bind, arguments) for name, binder in binders(annotation)}
        assert len(set(map(repr, outcomes.values()))) == 1, outcomes


def test_columns_of_different_lengths(core_module: Callable[[str], ModuleType]) -> None:
    module = core_module("coerce")
    with pytest.raises(ValueError, match="the same length"):
        module.ArgumentBinder("t", ["a"], ["a"], [], [module.MISSING], [None])


def test_a_copy_keeps_what_is_missing(core_module: Callable[[str], ModuleType]) -> None:
    import copy

    module = core_module("coerce")
    for mark in (module.MISSING, module.OMITTED):
        assert copy.deepcopy([mark]) == [mark]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        ("a\nb", '"a\\nb"'),
        ("x" * 100, '"' + "x" * 57 + '..."'),
        (12, "12"),
        (2**300, "a very long integer"),
        (1.5, "1.5"),
        (math.inf, "a number beyond all limits"),
        ({}, "an object"),
        ([], "a list"),
    ],
)
def test_how_values_are_shown(core_module: Callable[[str], ModuleType], value: Any, text: str) -> None:
    assert core_module("coerce").shown(value) == text
