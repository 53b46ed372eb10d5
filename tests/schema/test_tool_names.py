"""Names on the wire: accepted by the provider, unlike each other, and traced back."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fasttool.errors import ConfigurationError
from fasttool.schema.tool_names import NAME_RULES, NameRules, ToolNames

# As the providers document them, or say in their errors.
ACCEPTED = {
    "openai": re.compile(r"[a-zA-Z0-9_-]{1,64}"),
    "anthropic": re.compile(r"[a-zA-Z0-9_-]{1,128}"),
    "gemini": re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}"),
}
PROVIDERS = list(ACCEPTED)


def wire_names(names: list[str], rules: str = "openai") -> list[str]:
    found = ToolNames(names, rules)
    return [found.wire(name) for name in names]


@pytest.mark.parametrize(
    ("names", "wire"),
    [
        (["add", "sub-1", "_x"], ["add", "sub-1", "_x"]),
        (["math.add"], ["math_add"]),
        (["Create Share", "list()", "a//b"], ["Create_Share", "list", "a_b"]),
        (["math.add", "math_add"], ["math_add_zh5bi6", "math_add"]),
        (["math_add", "math.add", "math/add"], ["math_add", "math_add_zh5bi6", "math_add_szkhji"]),
        (["math.add", "math/add"], ["math_add", "math_add_szkhji"]),
        (["x" * 65], ["x" * 57 + "_6thsgz"]),
        (["año", "天气", ""], ["ano_eggm2t", "tool_4vnt3f", "tool_brmhax"]),
        (["..", "tool"], ["tool_f4nbut", "tool"]),
    ],
)
def test_openai(names: list[str], wire: list[str]) -> None:
    assert wire_names(names) == wire


@pytest.mark.parametrize(
    ("name", "wire"), [("math.add", "math.add"), ("1password", "_1password"), ("a:b", "a_b"), ("-x", "_-x")]
)
def test_gemini(name: str, wire: str) -> None:
    assert wire_names([name], "gemini") == [wire]


def test_anthropic_takes_longer_names() -> None:
    assert wire_names(["x" * 128], "anthropic") == ["x" * 128]
    assert len(wire_names(["x" * 129], "anthropic")[0]) == 128


def test_b056_names_of_servers() -> None:
    names = ["calendar.list", "calendar/list", "calendar_list", "Create Share", "x" * 80, "天气", ""]
    for provider in PROVIDERS:
        first = ToolNames(names, provider)
        wire = [first.wire(name) for name in names]
        assert len(set(wire)) == len(names)
        assert all(ACCEPTED[provider].fullmatch(name) for name in wire)
        assert [first.original(name) for name in wire] == names
        assert first.wire("calendar_list") == "calendar_list"
        for order in itertools.islice(itertools.permutations(names), 0, None, 97):
            assert [ToolNames(order, provider).wire(name) for name in names] == wire


def test_names_that_were_not_given() -> None:
    names = ToolNames(["a_b"], "openai")
    assert names.original("nothing") == "nothing"
    assert names.wire("fits") == "fits"
    assert names.wire("a.b") == wire_names(["a.b", "a_b"])[0]


def test_extended_names() -> None:
    names = ToolNames(["a.b", "a_c"], "openai")
    assert names.extended(["fits", "a.b"]) is names
    more = names.extended(["a/b", "a.c"])
    assert more.wire("a.b") == "a_b"
    assert [more.original(more.wire(name)) for name in ("a.b", "a/b", "a.c", "a_c")] == [
        "a.b",
        "a/b",
        "a.c",
        "a_c",
    ]
    assert names.original(more.wire("a/b")) == more.wire("a/b")  # the first ones are as they were


def test_rules_of_ones_own() -> None:
    rules = NameRules("a-z0-9_", 20)
    assert ToolNames(["Get"], rules).wire("Get") == "_et"
    with pytest.raises(ConfigurationError, match="no rules 'cohere'; there are openai, anthropic, gemini"):
        ToolNames([], "cohere")
    with pytest.raises(ConfigurationError, match="at least 16 characters, a to z, 2 to 7 and _ among them"):
        NameRules("a-zA-Z", 64)


ANY_NAME = st.one_of(
    st.text(max_size=8),
    st.text("ab._/ é天", max_size=5),
    st.text("ab_", min_size=60, max_size=70),
    st.text("a.", min_size=120, max_size=140),
    st.sampled_from(["a_b", "a_b_zh5bi6", "tool", "_", "-", "\ud800", "1"]),
)


@settings(max_examples=400, deadline=None)
@given(names=st.lists(ANY_NAME, max_size=12), further=ANY_NAME, provider=st.sampled_from(PROVIDERS))
def test_any_names(names: list[str], further: str, provider: str) -> None:
    accepted = ACCEPTED[provider].fullmatch
    found = ToolNames(names, provider)
    wire = {name: found.wire(name) for name in names}
    assert all(accepted(name) for name in wire.values())
    assert len(set(wire.values())) == len(wire)
    assert {name: found.original(wire_name) for name, wire_name in wire.items()} == {n: n for n in wire}
    assert all(wire[name] == name for name in names if accepted(name))
    assert {name: ToolNames(names, provider).wire(name) for name in names} == wire
    assert accepted(found.wire(further))
    # A further tool renames none, but where its own name is what another had become.
    if further not in wire.values():
        longer = ToolNames([*names, further], provider)
        assert {name: longer.wire(name) for name in names} == wire
        assert longer.original(longer.wire(further)) == further
    extended = found.extended([further])
    assert {name: extended.wire(name) for name in names} == wire


@given(names=st.lists(ANY_NAME, max_size=8, unique=True), data=st.data())
def test_order_decides_only_who_keeps_the_plain_name(names: list[str], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(names))
    first, second = ToolNames(names, "openai"), ToolNames(shuffled, "openai")
    rules = NAME_RULES["openai"]
    forms = [name if rules.fits(name) else rules.wire_name(name) for name in names]
    for name, form in zip(names, forms, strict=True):
        if forms.count(form) == 1:
            assert first.wire(name) == second.wire(name) == form
