"""Tool specifications are values: immutable, equal by value, and nothing reaches into them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from fasttool.errors import ConfigurationError
from fasttool.specification import ReturnBehavior, SearchBehavior, ToolSpecification

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
FULL = ToolSpecification("t", "d", SCHEMA, metadata={"k": [1]}, strict=True)


def test_values() -> None:
    assert ToolSpecification("t", "d", dict(SCHEMA), metadata={"k": [1]}, strict=True) == FULL
    assert hash(ToolSpecification("t", "d")) == hash(ToolSpecification("t", "d", SCHEMA))
    for changed in (
        {"name": "u"},
        {"description": None},
        {"parameters": None},
        {"metadata": {}},
        {"strict": None},
    ):
        assert FULL.replace(**changed) != FULL
    assert FULL.replace() == FULL
    assert FULL != "t"
    assert "ToolSpecification('t', 'd'" in repr(FULL)
    assert len({FULL, FULL.replace(), FULL.replace(name="u")}) == 2


def test_nothing_reaches_in() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    metadata = {"k": [1]}
    specification = ToolSpecification("t", parameters=schema, metadata=metadata)
    before = specification.parameters_json
    schema["type"] = "array"
    metadata["k"].append(2)
    specification.parameters["type"] = "array"
    specification.metadata["k"] = 3
    assert (specification.parameters_json, specification.metadata) == (before, {"k": [1]})
    with pytest.raises(AttributeError, match="immutable"):
        specification.name = "u"
    with pytest.raises(AttributeError, match="immutable"):
        del specification.name


def test_forms() -> None:
    assert ToolSpecification.from_dict(FULL.to_dict()) == FULL
    assert ToolSpecification("t").to_dict() == {"name": "t"}
    assert ToolSpecification("t").parameters is None
    assert ToolSpecification("t").metadata == {}
    assert ToolSpecification("t", parameters={}).parameters == {}
    for same in (pickle.loads(pickle.dumps(FULL)), copy.copy(FULL), copy.deepcopy(FULL)):
        assert same == FULL
    assert copy.deepcopy(FULL) is FULL


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"name": ""}, "needs a name"),
        ({"name": " "}, "needs a name"),
        ({"name": None}, "needs a name"),
        ({"name": "t", "description": 1}, "description of tool t must be text"),
        ({"name": "t", "strict": 1}, "strict of tool t must be True, False or None"),
        ({"name": "t", "parameters": []}, "parameters of tool t must be a mapping"),
        ({"name": "t", "parameters": {"a": object()}}, "parameters of tool t cannot be written as JSON"),
        ({"name": "t", "metadata": {"a": {1}}}, "metadata of tool t cannot be written as JSON"),
    ],
)
def test_refused(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        ToolSpecification(**arguments)
    with pytest.raises(ConfigurationError, match=text):
        ToolSpecification.from_dict(arguments)


def test_unknown_names() -> None:
    with pytest.raises(ConfigurationError, match="has no nam"):
        FULL.replace(nam="x")
    for form in ({"nam": "t"}, {"name": "t", "more": 1}, {}):
        with pytest.raises(ConfigurationError, match="has the keys name, description"):
            ToolSpecification.from_dict(form)


def test_behaviors() -> None:
    assert [behavior.value for behavior in ReturnBehavior] == ["to_llm", "immediate", "immediate_if_last"]
    assert [behavior.value for behavior in SearchBehavior] == ["searchable", "always_visible"]
