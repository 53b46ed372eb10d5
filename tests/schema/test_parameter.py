"""P takes what it says, and refuses the rest."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fasttool.errors import ConfigurationError
from fasttool.tools import P


def test_values() -> None:
    plain = P()
    assert (plain.description, plain.name, plain.required, plain.has_default) == ("", None, None, False)
    full = P("d", name="n", required=True, default=None)
    assert (full.description, full.name, full.required, full.default, full.has_default) == (
        "d",
        "n",
        True,
        None,
        True,
    )
    assert P(name=" ").name is None
    assert repr(full) == "P('d')"
    assert not copy.deepcopy(plain).has_default


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"description": 1}, r"description in P\(...\) must be text, got 1"),
        ({"name": 1}, r"name in P\(...\) must be text, got 1"),
        ({"required": 1}, r"required in P\(...\) must be True or False, got 1"),
    ],
)
def test_refused(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        P(**arguments)
