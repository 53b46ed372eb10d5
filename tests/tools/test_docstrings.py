"""Docstrings in the styles that people write."""

from __future__ import annotations

import pytest

from fasttool.tools.docstrings import EMPTY, read_docstring

GOOGLE = """Search.

    Second paragraph: when to use it.

    Raises:
        ValueError: bad input.

    Args:
        query: The text to use
            for finding things: important ones
        top_k (int, optional): How many. Default: 5
        **rest: More.

    Returns:
        Text.
    """
NUMPY = """Search.

    Parameters
    ----------
    query : str
        The text.
    top_k : int, optional
        How many.

    Returns
    -------
    str
        Text.
    """
SPHINX = """Search.

    :param query: The text.
    :param int top_k: How many.
    :returns: Text.
    """


def test_google() -> None:
    found = read_docstring(GOOGLE)
    assert found.description == "Search.\n\nSecond paragraph: when to use it."
    assert found.parameters == {
        "query": "The text to use for finding things: important ones",
        "top_k": "How many. Default: 5",
        "rest": "More.",
    }


@pytest.mark.parametrize("text", [NUMPY, SPHINX])
def test_other_styles(text: str) -> None:
    found = read_docstring(text)
    assert found.description == "Search."
    assert found.parameters == {"query": "The text.", "top_k": "How many."}


@pytest.mark.parametrize("text", [None, "", "  \n "])
def test_nothing(text: str | None) -> None:
    assert read_docstring(text) is EMPTY


def test_plain_text() -> None:
    assert read_docstring("One line.").description == "One line."
    assert read_docstring("\n    One line.\n    ").description == "One line."
    two = read_docstring("First line\ncontinues here.\n\nSee: elsewhere")
    assert two.parameters == {}
    assert "First line" in (two.description or "")
