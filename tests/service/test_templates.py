"""Templates: places for values, filled once."""

from __future__ import annotations

import datetime

import pytest

from fasttool.errors import ConfigurationError
from fasttool.service.templates import Template


def test_places_are_filled_whatever_the_space_around_the_name() -> None:
    template = Template("Translate {{ text }} to {{language}}: {{text}}", "it")
    assert template.names == ("text", "language")
    assert template.filled({"text": "hi", "language": "French"}) == "Translate hi to French: hi"


def test_values_are_put_in_as_they_are() -> None:
    template = Template("{{a}} {{b}}", "it")
    assert template.filled({"a": "{{b}} \\1 {{x}}", "b": 3}) == "{{b}} \\1 {{x}} 3"


def test_it_is_the_only_argument() -> None:
    template = Template("Say {{it}}", "it")
    template.check(["text"])
    assert template.filled({"text": "hi"}) == "Say hi"
    with pytest.raises(ConfigurationError, match="is no argument"):
        template.check(["text", "language"])


def test_today_is_known() -> None:
    text = Template("{{current_date}} {{current_time}} {{current_date_time}}", "it").filled({})
    day, time, both_day, both_time = text.split(" ")
    assert datetime.date.fromisoformat(day) == datetime.date.fromisoformat(both_day)
    datetime.time.fromisoformat(time)
    datetime.time.fromisoformat(both_time)


def test_an_argument_of_that_name_comes_first() -> None:
    assert Template("{{current_date}}", "it").filled({"current_date": "never"}) == "never"


@pytest.mark.parametrize(
    ("values", "text"),
    [({}, 'variable "name" of Chat is missing'), ({"name": None}, 'variable "name" of Chat is None')],
)
def test_a_missing_value_is_an_error(values: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        Template("{{name}}", "Chat").filled(values)


@pytest.mark.parametrize("text", ["{{}}", "{{a b}}", "{{1x}}", "{{a.b}}"])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="stands between braces"):
        Template(text, "Chat")


def test_other_braces_are_text() -> None:
    assert Template("{a} }} {{ {", "it").filled({"a": 1}) == "{a} }} {{ {"
