"""The core vectors: coercion, argument text, defaults, the required rule, result text, return behaviour.

The schema vectors are in test_schema_vectors.py.  A row decides by its ``recommended`` value where it has
one, else by ``expect``; where fasttool decided otherwise, the row is in DEVIATIONS with the value of ours.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import json
import math
import uuid
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import pytest

from fasttool.errors import ConfigurationError, ProblemKind, ToolArgumentsError, ToolExecutionError
from fasttool.loop.returns import returns_immediately
from fasttool.messages import Content, ImageContent, TextContent
from fasttool.specification import ReturnBehavior
from fasttool.tools import P, ToolExecutionResult, tool_plan
from tests.vectors.core_types import KINDS, Color, python_type, python_value
from tests.vectors_finder import vector_file

NO_WIDTH = "Python's int and float have no narrower widths"
REQUIRED = "a required argument is an error when it is null or absent, whatever its type"
EMPTY = "nothing but white space may follow the object: text is never cut off"

# id -> (reason, the value or the kind of error that fasttool gives)
DEVIATIONS: dict[str, tuple[str, Any]] = {
    "K019": (NO_WIDTH, 2147483648),
    "K021": (NO_WIDTH, -2147483649),
    "K022": (NO_WIDTH, 2147483648),
    "K035": (NO_WIDTH, 10**10),
    "K037": (NO_WIDTH, 9007199254740993),
    "K038": (NO_WIDTH, 123456789012345678901234567890),
    "K046": (NO_WIDTH, -9223372036854775809),
    "K050": (NO_WIDTH, 10**19),
    "K054": (NO_WIDTH, 32768),
    "K082": (NO_WIDTH, 3.5e38),
    "K083": (NO_WIDTH, -3.5e38),
    "K084": ("only finite numbers reach a tool", ProblemKind.NOT_FINITE),
    "K085": ("only finite numbers reach a tool", ProblemKind.NOT_FINITE),
    "K111": ("a number becomes its JSON text", "1e+21"),
    "K113": (REQUIRED, ProblemKind.MISSING),
    "K122": ("text is taken as it is, never read as JSON", '"abc"'),
    "K139": (REQUIRED, ProblemKind.MISSING),
    "K156": (REQUIRED, ProblemKind.MISSING),
    "K168": (REQUIRED, ProblemKind.MISSING),
    "K296": ("text is taken as it is, never read as JSON", ProblemKind.WRONG_TYPE),
    "K300": ("dates and times are ISO text", ProblemKind.WRONG_TYPE),
    "K302": ("dates and times are ISO text", ProblemKind.WRONG_TYPE),
    "K187": (REQUIRED, ProblemKind.MISSING),
    "K196": (NO_WIDTH, [2147483648]),
    "K203": (REQUIRED, ProblemKind.MISSING),
    "K239": ("a key has the declared type, as a value has", {1: "a"}),
    "K246": (REQUIRED, ProblemKind.MISSING),
    "K269": (REQUIRED, ProblemKind.MISSING),
    "K288": (
        NO_WIDTH,
        python_value(
            {"$type": "Simple", "n": 2147483648, "d": 1.0, "s": "x", "b": True, "color": {"$enum": "RED"}}
        ),
    ),
    "A08": (REQUIRED, ProblemKind.MISSING),
    "A11": (REQUIRED, ProblemKind.MISSING),
    "A21": (EMPTY, ProblemKind.INVALID_JSON),
    "A22": (REQUIRED, ProblemKind.MISSING),
    "A23": (REQUIRED, ProblemKind.MISSING),
    "A24": (REQUIRED, ProblemKind.MISSING),
    "A25": ("null means no arguments", ProblemKind.MISSING),
    "A26": (EMPTY, ProblemKind.INVALID_JSON),
    "A27": (EMPTY, ProblemKind.INVALID_JSON),
    "A39": ("repairs respect strings", ['say "hi"']),
    "A40": ("repairs respect strings", ["[1,2,]"]),
    "A41": ("repairs respect strings", ["x, }"]),
    "A44": (EMPTY, ProblemKind.INVALID_JSON),
    "D05": ("a default in P and None in the type are two ways to say one thing", ConfigurationError),
    "D22": ("a default has the required fields of its type", ConfigurationError),
    "D28": ("a default is a value or its plain text, not JSON inside text", ConfigurationError),
    "D33": ("the whole default is read", ConfigurationError),
    "X23": ("Python has no type of one character: it is text", "a"),
    "X38": ("the tool ran; what cannot be written is an error of its execution", ToolExecutionError),
    "X47": ("a list of contents is contents, however it is declared", None),
    "X50": ("an empty list is an empty list", "[]"),
    "X51": ("a list with a content in it is contents; the rest of it becomes text", ["text a", "text str"]),
    "X52": ("a list with a content in it is contents; the rest of it becomes text", ["text str", "text a"]),
    "X56": ("ToolExecutionResult needs a text; None is refused by the type alone", None),
    "X57": ("the text of a result with contents is its text parts; contents are what is sent", None),
}
# type -> why this version refuses it
OUT_OF_SLICE = {
    "optional": "Optional without a type says nothing",
}
# id or type -> why there is nothing in Python to run it on
NOT_IN_PYTHON = {
    "char": "Python has no type of one character",
    "uri": "Python has no type of its own for it",
    "D34": "Python has no type of one character",
    "R12": "Python has no primitives: P(required=False) gives None",
    "R22": "injected: see test_injection",
    "R24": "injected: see test_injection",
    "R28": "about an annotation of a Java library",
    "R30": "no discriminators yet",
    "X34": "no such type",
    "X41": "None is one value for all types: see X05",
}


def rows(name: str, key: str = "cases") -> list[dict[str, Any]]:
    found = json.loads(vector_file(f"core/{name}.json").read_text(encoding="utf-8"))
    return found if isinstance(found, list) else found[key]


def params(name: str, key: str = "cases") -> list[Any]:
    return [pytest.param(row, id=str(row.get("id", row.get("row")))) for row in rows(name, key)]


def plan_of(annotation: Any) -> Any:
    def t(a: Any) -> None:
        """Test."""

    t.__annotations__["a"] = annotation
    return tool_plan(t)


def assert_same(given: Any, expected: Any) -> None:
    """Equal, and of the same types all the way down."""
    assert type(given) is type(expected)
    assert given == expected
    if isinstance(given, (list, tuple)):
        for left, right in zip(given, expected, strict=True):
            assert_same(left, right)
    elif isinstance(given, dict):
        for key, value in given.items():
            assert_same(value, expected[key])
            assert {type(name) for name in given} == {type(name) for name in expected}
    elif dataclasses.is_dataclass(given):
        for field in dataclasses.fields(given):
            assert_same(getattr(given, field.name), getattr(expected, field.name))


def check(bind: Callable[[], Any], row: dict[str, Any]) -> None:
    """Run one row that expects a value or a kind of argument error."""
    wanted = row.get("recommended", row["expect"])
    if row["id"] in DEVIATIONS:
        _, value = DEVIATIONS[row["id"]]
        kinds, wanted = ({value}, {}) if isinstance(value, ProblemKind) else (set(), {"ok": value})
    elif "error" in wanted:
        assert wanted["error"] == "arguments"
        kinds = KINDS[wanted["why"].split()[0]]
    else:
        kinds, wanted = set(), {"ok": python_value(wanted["ok"])}
    if not kinds:
        assert_same(bind(), wanted["ok"])
        return
    with pytest.raises(ToolArgumentsError) as raised:
        bind()
    assert kinds & {problem.kind for problem in raised.value.problems}, raised.value


# ------------------------------------------------------------------------------- coercion
@pytest.mark.parametrize("row", params("coercion"))
def test_coercion(row: dict[str, Any]) -> None:
    kind = row["type"]
    if kind in NOT_IN_PYTHON or kind.removesuffix("?") in NOT_IN_PYTHON:
        return
    annotation = python_type(kind)
    if kind in OUT_OF_SLICE:
        with pytest.raises(ConfigurationError, match=r"\AParameter a of tool t has .*accepted: .*\.\Z"):
            plan_of(annotation)
        return
    plan = plan_of(annotation)
    check(lambda: plan.bind(f'{{"a": {row["json"]}}}')["a"], row)


# ------------------------------------------------------------------------------- argument text
def ping() -> None:
    """Take nothing."""


def one(a: str) -> None:
    """Take a text."""


def two(x: str, y: int) -> None:
    """Take a text and an integer."""


def maybe(a: Annotated[int | None, P(required=False)]) -> None:
    """Take an integer or nothing."""


def city(c: Annotated[str, P(name="city")]) -> None:
    """Take a city."""


SIGNATURES: dict[str, Callable[..., Any]] = {
    "()": ping,
    "string": one,
    "(x: string, y: int32)": two,
    "int32? required=false": maybe,
    "(c: string named 'city')": city,
}


@pytest.mark.parametrize("form", ["text", "bytes"])
@pytest.mark.parametrize("row", params("arguments_json"))
def test_argument_text(row: dict[str, Any], form: str) -> None:
    plan = tool_plan(SIGNATURES[row["params"]])
    text = row["raw_arguments"]
    arguments = text.encode() if form == "bytes" and text is not None else text
    expected = row["expect"].get("ok", ...)
    if expected is not ... and row["id"] not in DEVIATIONS:
        values = [] if expected == "none" else expected if isinstance(expected, list) else [expected]
        row = {**row, "expect": {"ok": values}}
    check(lambda: list(plan.bind(arguments).values()), row)


# ------------------------------------------------------------------------------- defaults
@pytest.mark.parametrize("row", params("defaults"))
def test_defaults(row: dict[str, Any]) -> None:
    if row["id"] in NOT_IN_PYTHON:
        return
    if row["type"] in OUT_OF_SLICE:
        with pytest.raises(ConfigurationError, match=r"accepted: .*\.\Z"):
            plan_of(Annotated[python_type(row["type"]), P(default=row["default_text"])])
        return
    annotation = Annotated[python_type(row["type"]), P(default=row["default_text"])]
    _, deviation = DEVIATIONS.get(row["id"], ("", None))
    if row["expect"].get("error") == "registration" or deviation is ConfigurationError:
        with pytest.raises(ConfigurationError, match=r"\A[^\n]+\.\Z"):
            plan_of(annotation)
        return
    plan = plan_of(annotation)
    expected = row["expect"]["ok"]
    expected = python_value(expected) if row["type"] == "decimal" else expected
    for arguments in (None, "{}", '{"a": null}'):
        value = plan.bind(arguments)["a"]
        if isinstance(value, Enum):
            value = value.name
        elif isinstance(value, set):
            value = sorted(value)
        elif isinstance(value, list):
            value = [item.name if isinstance(item, Enum) else item for item in value]
        assert_same(value, expected)


def test_a_default_is_new_for_each_call() -> None:
    plan = plan_of(Annotated[list[str], P(default=["a"])])
    plan.bind("{}")["a"].append("b")
    assert plan.bind("{}") == {"a": ["a"]}


# ------------------------------------------------------------------------------- required
@dataclasses.dataclass
class Fields:
    plain: str
    free: Annotated[str, P(required=False)]
    needed: Annotated[str, P(required=True)]
    maybe: str | None


# id -> annotation; the value, or the kind of error, for an absent argument
REQUIRED_ROWS: dict[str, tuple[Any, Any]] = {
    "R01": (str, ProblemKind.MISSING),
    "R02": (int, ProblemKind.MISSING),
    "R04": (bool, ProblemKind.MISSING),
    "R05": (int | None, None),
    "R08": (Annotated[str, P(required=True)], ProblemKind.MISSING),
    "R14": (str | None, None),
    "R15": (Annotated[str | None, P(required=True)], None),
    "R16": (Annotated[int, P(default=5)], 5),
    "R17": (Annotated[int, P(required=True, default=5)], 5),
    "R18": (Annotated[str, P(default="")], ""),
    "R19": (Annotated[str | None, P(default="x")], ConfigurationError),
    "R31": (Annotated[int, P(default=5)], 5),
    "R32": (Annotated[int, P(default=5)], 5),
}
# In Java a boxed type is a reference that may be null; in Python T | None says so, and is never required.
NOT_REQUIRED = {"R05"}
FIELD_ROWS = {"R25": "plain", "R26": "free", "R27": "needed", "R29": "maybe"}


@pytest.mark.parametrize("row", params("required"))
def test_required(row: dict[str, Any]) -> None:
    number = row["id"]
    if number in NOT_IN_PYTHON:
        return
    wanted = row.get("recommended", row)["in_required"] is True and number not in NOT_REQUIRED
    if number in FIELD_ROWS:
        schema = plan_of(Fields).specification.parameters["properties"]["a"]
        assert (FIELD_ROWS[number] in schema["required"]) is wanted
        if "recommended" in row:
            assert schema["properties"][FIELD_ROWS[number]] == row["recommended"]["schema"]
        return
    annotation, absent = REQUIRED_ROWS[number]
    if absent is ConfigurationError:
        assert row["in_required"] == "registration error"
        with pytest.raises(
            ConfigurationError, match="Parameter a of tool t has a default in P and may be None"
        ):
            plan_of(annotation)
        return
    plan = plan_of(annotation)
    assert (plan.specification.parameters["required"] == ["a"]) is wanted
    for arguments in ("{}", '{"a": null}'):
        if isinstance(absent, ProblemKind):
            with pytest.raises(ToolArgumentsError, match='"a" is required and'):
                plan.bind(arguments)
        else:
            assert_same(plan.bind(arguments), {"a": absent})
    if number == "R32":
        with pytest.raises(ToolArgumentsError):
            plan.bind('{"a": "banana"}')


# ------------------------------------------------------------------------------- result text
IMAGE = ImageContent(b"\x00", mime_type="image/png")


def returning(value: Any, declared: Any) -> Any:
    def t() -> Any:
        """Test."""
        return value

    t.__annotations__["return"] = declared
    return tool_plan(t)


def _loop() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


async def _later() -> str:
    return "f"


# id -> what the tool returns, and its declared type; other rows say both themselves
RETURNED: dict[str, tuple[Any, Any]] = {
    "X01": (None, None),
    "X11": (None, Any),
    "X16": (1e21, float),
    "X18": (math.inf, float),
    "X19": (Decimal("1.10"), Decimal),
    "X20": (Decimal("1E+3"), Decimal),
    "X24": (Color.GREEN, Color),
    "X37": ("x", str | None),
    "X38": (_loop(), object),
    "X42": (IMAGE, ImageContent),
    "X43": (TextContent("t"), TextContent),
    "X44": (TextContent("t"), Content),
    "X47": ([TextContent("a"), TextContent("b")], list[Content]),
    "X48": (IMAGE, object),
    "X49": ([], list[Content]),
    "X50": ([], list[Content]),
    "X51": ([TextContent("a"), "str"], list[object]),
    "X52": (["str", TextContent("a")], list[object]),
    "X53": ([IMAGE], list[ImageContent]),
    "X54": (ToolExecutionResult("x", is_error=True, attributes={"k": 1}), ToolExecutionResult),
}
DECLARED: dict[str, Any] = {
    "str": str,
    "object": object,
    "int?": int | None,
    "int": int,
    "float": float,
    "bool": bool,
    "char": str,
    "uuid": str,
    "list": list,
    "map": dict,
    "list[str]": list[str],
    "date": str,
    "datetime": str,
    "time": str,
}
# The value is made of its text, which has a class of its own in Python.
MADE: dict[str, Callable[[str], Any]] = {
    "X25": uuid.UUID,
    "X31": datetime.date.fromisoformat,
    "X32": datetime.datetime.fromisoformat,
    "X33": datetime.time.fromisoformat,
}
OTHER_TEXT = {
    "X11": ("None is the only value of None; where None is one of several, it is null", "null"),
    "X16": ("a number is written as Python and JSON write it", "1e+21"),
    "X37": ("an optional is its value; text is sent as it is", "x"),
}


@pytest.mark.parametrize("row", params("to_text"))
def test_result_text(row: dict[str, Any]) -> None:
    number = row["id"]
    if number in NOT_IN_PYTHON:
        return
    if number == "X55":
        assert returning(_later(), str).call("{}").text == "f"
        assert asyncio.run(returning(_later(), str).acall("{}")).text == "f"
        return
    if number == "X56":
        with pytest.raises(TypeError):
            ToolExecutionResult()  # type: ignore[call-arg]
        return
    if number == "X57":
        result = ToolExecutionResult("a", (TextContent("a"),))
        assert (result.text, result.contents) == ("a", (TextContent("a"),))
        return
    value, declared = RETURNED.get(number, (row["value"], DECLARED.get(row["declared_return"], Any)))
    plan = returning(MADE[number](value) if number in MADE else value, declared)
    _, deviation = DEVIATIONS.get(number, ("", None))
    if deviation is ToolExecutionError:
        with pytest.raises(
            ToolExecutionError, match=r"\ATool t ran, but its result, a list, cannot be written"
        ):
            plan.call("{}")
        return
    result = plan.call("{}")
    assert result.is_error is (number == "X54")
    if number == "X54":
        assert (result.text, result.attributes) == ("x", {"k": 1})
        return
    wanted = row.get("recommended", row["expect"])
    if isinstance(deviation, str):
        wanted = {"text": deviation}
    elif isinstance(deviation, list):
        wanted = {"contents": deviation}
    elif number in OTHER_TEXT:
        wanted = {"text": OTHER_TEXT[number][1]}
    if "contents" in wanted:
        shown = [
            f"text {item.text}" if isinstance(item, TextContent) else item.type for item in result.contents
        ]
        assert shown == wanted["contents"]
    else:
        assert result.text == wanted["text"]
    assert result.value is value or number in MADE


# ------------------------------------------------------------------------------- return behaviour
@pytest.mark.parametrize(
    "row", [item for key in ("rows", "error_rows", "special_rows") for item in params("return_behavior", key)]
)
def test_return_behavior(row: dict[str, Any]) -> None:
    # A name that is no tool's counts as one whose result goes to the model.
    behaviors = [ReturnBehavior[name.replace("(unknown tool)", "TO_LLM")] for name in row["behaviors"]]
    failed = any(row["errors"])
    assert returns_immediately(behaviors, failed=failed) is (row["expect"] == "return")


# ------------------------------------------------------------------------------- the lists
def test_every_listed_row_exists() -> None:
    known = {
        str(row["id"]) for name in ("coercion", "arguments_json", "defaults", "to_text") for row in rows(name)
    }
    known |= {row["id"] for row in rows("required")} | {row["type"] for row in rows("coercion")}
    assert {*DEVIATIONS, *NOT_IN_PYTHON, *REQUIRED_ROWS, *RETURNED, *OUT_OF_SLICE} - known == set()


def test_the_copies_are_the_vectors() -> None:
    copies = vector_file("core/coercion.json").parent
    here = Path(__file__).parent / "core"
    for path in sorted(here.glob("*.json")):
        assert path.read_bytes() == (copies / path.name).read_bytes(), path.name
