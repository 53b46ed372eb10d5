"""What a model calls the members of an enum, and what is understood."""

from __future__ import annotations

from enum import Enum, IntEnum, StrEnum

from fasttool.schema.enums import accepted_numbers, accepted_texts, member_text, shown_values


class Unit(Enum):
    C = "celsius"
    F = "fahrenheit"
    CENTIGRADE = "celsius"  # noqa: PIE796


class Shade(StrEnum):
    DARK = "dark-one"


class Level(IntEnum):
    LOW = 1


class Mixed(Enum):
    up = 1
    UP = 2
    Down = 3
    dOWN = 4


def test_names_are_shown() -> None:
    assert member_text(Unit.C) == "C"
    assert member_text(Shade.DARK) == "dark-one"
    assert member_text(Level.LOW) == "LOW"
    assert shown_values(Unit) == ["C", "F"]
    assert shown_values(Unit, by_value=True) == ["celsius", "fahrenheit"]


def test_accepted() -> None:
    exact, folded = accepted_texts(Unit)
    assert exact == {"C": Unit.C, "F": Unit.F, "CENTIGRADE": Unit.C, "celsius": Unit.C, "fahrenheit": Unit.F}
    assert folded == {text.casefold(): member for text, member in exact.items()}
    exact, folded = accepted_texts(Shade)
    assert exact == {"dark-one": Shade.DARK, "DARK": Shade.DARK}


def test_what_is_not_clear_is_not_accepted() -> None:
    exact, folded = accepted_texts(Mixed)
    assert exact == {"up": Mixed.up, "UP": Mixed.UP, "Down": Mixed.Down, "dOWN": Mixed.dOWN}
    assert folded == {"up": Mixed.UP}


def test_numbers() -> None:
    assert accepted_numbers(Level) == [(1, Level.LOW)]
    assert accepted_numbers(Mixed) == []
    assert accepted_numbers(Mixed, by_value=True) == [
        (1, Mixed.up),
        (2, Mixed.UP),
        (3, Mixed.Down),
        (4, Mixed.dOWN),
    ]
    assert accepted_numbers(Unit, by_value=True) == []
