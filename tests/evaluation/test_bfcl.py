from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fasttool.errors import ConfigurationError, ToolArgumentsError
from fasttool.evaluation import CATEGORIES, Question, read_questions
from fasttool.messages import AiMessage, SystemMessage, UserMessage
from fasttool.models.openai_codec import tool_bytes
from fasttool.tools import bind_schema

# The number of questions in the version of the package that pyproject.toml names.
NUMBERS = {
    "simple_python": 400,
    "multiple": 200,
    "parallel": 200,
    "parallel_multiple": 200,
    "live_simple": 258,
    "live_multiple": 1053,
    "live_parallel": 16,
    "live_parallel_multiple": 24,
    "irrelevance": 240,
    "live_irrelevance": 884,
}


@pytest.fixture
def installed() -> None:
    if importlib.util.find_spec("bfcl_eval") is None:
        sentence = "the questions need bfcl-eval (make venv installs it)"
        if os.environ.get("CI", "0") not in ("", "0"):
            pytest.fail(sentence, pytrace=False)
        pytest.skip(sentence)


def right_arguments(accepted: Any) -> Any:
    """A value that is right, for accepted ones as the dataset writes them."""
    if isinstance(accepted, dict):
        values = {
            name: next((value for value in values if value != ""), None)
            for name, values in accepted.items()
            if "" not in values
        }
        return {name: right_arguments(value) for name, value in values.items()}
    return [right_arguments(value) for value in accepted] if isinstance(accepted, list) else accepted


def right_calls(question: Question) -> list[tuple[str, str]]:
    """The tools' names and the argument texts of calls that are right."""
    safe = {name: tool for tool, name in question.names.items()}
    calls = []
    for call in question.expected:
        needed = {
            name: next(value for value in values if value != "")
            for name, values in call.accepted.items()
            if "" not in values or (name in call.required and any(value != "" for value in values))
        }
        arguments = {name: right_arguments(value) for name, value in needed.items()}
        calls.append((safe[call.name], json.dumps(arguments)))
    return calls


@pytest.mark.usefixtures("installed")
class TestQuestions:
    @pytest.mark.parametrize("category", CATEGORIES)
    def test_all_of_a_category_can_be_asked(self, category: str) -> None:
        questions = list(read_questions(category))
        assert len(questions) == NUMBERS[category]
        assert len({question.id for question in questions}) == len(questions)
        for question in questions:
            assert question.category == category
            assert question.text
            assert isinstance(question.messages[-1], UserMessage)
            assert (question.expected == ()) == ("irrelevance" in category)
            names = [specification.name for specification in question.tools]
            assert len(set(names)) == len(names) == len(question.names)
            for specification in question.tools:
                assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", specification.name)
                assert (specification.parameters or {})["type"] == "object"
                json.loads(tool_bytes(specification))
                bind_schema(specification)
            for call in question.expected:
                assert call.name in question.names.values()

    @pytest.mark.parametrize("category", ["simple_python", "multiple", "parallel"])
    def test_the_right_calls_are_right_once_they_are_bound(self, category: str) -> None:
        wrong = []
        for question in read_questions(category):
            binders = {specification.name: bind_schema(specification) for specification in question.tools}
            try:
                calls = [
                    question.bound_call(name, binders[name].bind(text))
                    for name, text in right_calls(question)
                ]
            except ToolArgumentsError as error:
                wrong.append((question.id, str(error)))
                continue
            if not (verdict := question.check(calls)).right:
                wrong.append((question.id, verdict.reason))
        # Where the dataset's own answer does not fit its own schema: a boolean for a text.
        assert [entry for entry in wrong if entry[0] != "simple_python_307"] == []

    def test_a_question_in_full(self) -> None:
        question = next(read_questions("multiple"))
        assert question.id == "multiple_0"
        assert question.text.startswith("Can I find the dimensions and properties of a triangle")
        first = question.tools[0]
        assert first.name == "triangle_properties_get"
        assert question.names[first.name] == "triangle_properties.get"
        properties = (first.parameters or {})["properties"]
        assert properties["side1"]["type"] == "integer"
        assert "optional" not in properties["get_area"]
        (expected,) = question.expected
        assert expected.name == "triangle_properties.get"
        assert expected.accepted["side1"] == [5]
        assert expected.required == {"side1", "side2", "side3"}

        def verdict(name: str, **arguments: Any) -> str:
            return question.check([question.bound_call(name, arguments)]).reason

        assert verdict(first.name, side1=5, side2=4, side3=3) == ""
        assert verdict(first.name, side1=5, side2=4, side3=3, get_area=True) == ""
        assert verdict(first.name, side1=5, side2=4, side3=3, get_area=False) == (
            '"get_area" is False, accepted: True.'
        )
        assert verdict(first.name, side1=5, side2=4) == 'The required argument "side3" is missing.'
        assert verdict("nothing") == "nothing was called, triangle_properties.get expected."

    def test_what_was_repaired_is_told(self) -> None:
        assert any(question.warnings for question in read_questions("simple_python", 20))

    def test_roles_are_kept(self) -> None:
        kinds = {type(message) for q in read_questions("live_irrelevance") for message in q.messages}
        assert kinds == {SystemMessage, UserMessage, AiMessage}

    def test_a_limit_takes_the_first(self) -> None:
        assert [question.id for question in read_questions("parallel", 2)] == ["parallel_0", "parallel_1"]
        assert list(read_questions("parallel", 0)) == []

    def test_the_package_is_not_imported(self) -> None:
        script = (
            "import sys; from fasttool.evaluation import read_questions; "
            "print(len(list(read_questions('parallel', 3))), 'bfcl_eval' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "3 False"


def test_an_unknown_category() -> None:
    with pytest.raises(ConfigurationError, match=r"no category 'sql'; there are simple_python, multiple"):
        next(read_questions("sql"))


def test_without_the_package_the_error_is_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError) as caught:
        next(read_questions("multiple"))
    assert (
        str(caught.value) == "The BFCL questions need the package bfcl-eval: pip install --no-deps bfcl-eval"
    )


def test_a_package_with_other_contents(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location(
        "bfcl_eval", tmp_path / "__init__.py", submodule_search_locations=[str(tmp_path)]
    )
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(ConfigurationError, match=r"BFCL_v4_multiple\.json of bfcl-eval cannot be read"):
        next(read_questions("multiple"))
