"""Tools from all sources, put together."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from fasttool.errors import ConfigurationError
from fasttool.messages import ToolCall
from fasttool.specification import ReturnBehavior, ToolSpecification
from fasttool.tools import ToolService, tool, tool_plan


@tool
def first() -> None:
    """First."""


@tool(return_behavior=ReturnBehavior.IMMEDIATE)
def second() -> None:
    """Second."""


def silent() -> None: ...


MANUAL = ToolSpecification("manual", "By hand.")


def run(call: ToolCall, context: Any) -> str:
    return call.arguments


def test_sources_keep_their_order() -> None:
    service = ToolService([second, {MANUAL: run}, tool_plan(first)])
    context = service.context()
    assert [specification.name for specification in context.effective_tools] == ["second", "manual", "first"]
    assert context.available_tools is context.effective_tools
    assert list(context.available) == ["second", "manual", "first"]
    assert {name: entry.return_behavior for name, entry in context.available.items()} == {
        "second": ReturnBehavior.IMMEDIATE,
        "manual": ReturnBehavior.TO_LLM,
        "first": ReturnBehavior.TO_LLM,
    }
    assert context.available["manual"].executor.execute(ToolCall("1", "manual", "{}"), None).text == "{}"
    assert ToolService({MANUAL: run}).context().effective_tools == (MANUAL,)
    assert ToolService().context().effective_tools == ()


def test_a_snapshot_stays_as_it_is() -> None:
    service = ToolService([first])
    before = service.context()
    assert service.context() is before
    service.add(second)
    assert len(before.available) == 1
    assert list(service.context().available) == ["first", "second"]


def test_names_are_unique() -> None:
    @tool(name="first")
    def other() -> None:
        """Other."""

    service = ToolService([first])
    for source in (other, first, {ToolSpecification("first", "d"): run}):
        with pytest.raises(ConfigurationError, match="Two tools are named first"):
            service.add(source)
    assert list(service.context().available) == ["first"]


def test_descriptions(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "fasttool"):
        ToolService([first])
        assert caplog.messages == []
        ToolService([silent])
    assert caplog.messages == [
        'Tool silent has no description: give it a docstring, or @tool("what it is for").'
    ]
    with pytest.raises(ConfigurationError, match="Tool silent has no description"):
        ToolService([silent], require_descriptions=True)
    ToolService([first], require_descriptions=True)


@pytest.mark.parametrize(
    ("tools", "text"),
    [
        (5, "tools must be a list of tools or a mapping"),
        ("first", "tools must be a list"),
        (first, "tools must be a list"),
        ({"name": run}, "has ToolSpecification keys, got str"),
        ({MANUAL: 5}, "executor of tool manual must be a function"),
        ([[first]], "got a list: is a collection nested"),
        ([object()], "has no method marked with @tool"),
    ],
)
def test_refused(tools: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        ToolService(tools)
