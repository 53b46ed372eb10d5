"""One plan per callable: made once, shared, and gone with what it was made for."""

from __future__ import annotations

import asyncio
import copy
import functools
import gc
import inspect
import pickle
import typing
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fasttool import run_tools
from fasttool.errors import ToolArgumentsError
from fasttool.messages import AiMessage, ToolCall
from fasttool.models import ScriptedChatModel
from fasttool.specification import ToolSpecification
from fasttool.tools import ToolPlan, ToolService, find_tools, tool, tool_plan
from fasttool.tools import plan as plan_module


@tool
def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


class Counter:
    def __init__(self) -> None:
        self.total = 0

    def __call__(self, n: int) -> int:
        """Count."""
        self.total += n
        return self.total

    @tool
    def reset(self) -> None:
        """Reset."""
        self.total = 0


class Plain:
    def __call__(self, n: int) -> int:
        """Give back."""
        return n


def test_the_same_callable_has_the_same_plan() -> None:
    assert tool_plan(add) is tool_plan(add)
    assert tool_plan(tool_plan(add)) is tool_plan(add)
    plain = Plain()
    assert tool_plan(plain) is tool_plan(plain)
    partial = functools.partial(add, 1)
    assert tool_plan(partial) is tool_plan(partial)
    assert tool_plan(partial) is not tool_plan(functools.partial(add, 1))
    counter = Counter()
    assert tool_plan(counter.reset).specification is tool_plan(Counter().reset).specification
    assert repr(tool_plan(add)) == "ToolPlan('add')"


def test_a_function_and_a_method_are_told_apart() -> None:
    assert list(tool_plan(Counter.reset).bind({"self": 1})) == ["self"]
    assert tool_plan(Counter().reset).bind({}) == {}
    assert list(tool_plan(Counter.reset).bind({"self": 1})) == ["self"]


def test_copies_have_plans_of_their_own() -> None:
    plain = Plain()
    tool_plan(plain)
    for other in (copy.copy(plain), copy.deepcopy(plain), pickle.loads(pickle.dumps(plain))):
        plan = tool_plan(other)
        assert plan.function is other
        assert plan.bind({"n": 1}) == {"n": 1}
        with pytest.raises(ToolArgumentsError, match='"n" is required and is missing'):
            plan.bind({})


def test_objects_that_keep_nothing() -> None:
    class Slotted:
        __slots__ = ()

        def __call__(self, n: int) -> int:
            """Give back."""
            return n

    class Frozen(Plain):
        def __setattr__(self, name: str, value: Any) -> None:
            raise AttributeError(name)

    for function in (Slotted(), Frozen(), len):
        assert tool_plan(function).specification == tool_plan(function).specification


def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    counts: dict[str, int] = {}

    def count(owner: Any, name: str) -> None:
        original = getattr(owner, name)
        counts[name] = 0

        @functools.wraps(original)
        def counting(*arguments: Any, **keywords: Any) -> Any:
            counts[name] += 1
            return original(*arguments, **keywords)

        monkeypatch.setattr(owner, name, counting)

    count(inspect, "signature")
    count(typing, "get_type_hints")
    count(plan_module, "parameters_schema")
    count(plan_module, "read_docstring")
    count(plan_module, "argument_binder")
    count(ToolSpecification, "__init__")
    return counts


def script() -> ScriptedChatModel:
    calls = (ToolCall("1", "add", '{"a": "1"}'), ToolCall("2", "reset", ""))
    return ScriptedChatModel([AiMessage(tool_calls=calls), AiMessage("done")])


@pytest.mark.parametrize(
    "sources", [lambda: [add, Counter()], lambda: [add, COUNTER.reset]], ids=["objects", "methods"]
)
def test_no_run_inspects_again(monkeypatch: pytest.MonkeyPatch, sources: Callable[[], list[Any]]) -> None:
    run_tools(script(), "hi", sources())
    counts = counted(monkeypatch)
    for _ in range(100):
        assert run_tools(script(), "hi", sources()).content == "done"
    assert counts == dict.fromkeys(counts, 0)

    def other(x: int) -> None:
        """Prove that the counters count."""

    tool_plan(other)
    assert min(counts.values()) > 0


COUNTER = Counter()


def test_dropped_tools_are_collected() -> None:
    def references() -> list[weakref.ref[Any]]:
        def local(n: int) -> int:
            """Give back."""
            return n

        plain, counter = Plain(), Counter()
        partial = functools.partial(local, 1)
        service = ToolService([local, counter])
        plans = [tool_plan(plain), tool_plan(partial), *find_tools(counter)]
        service.context()
        for plan in plans:
            plan.call({"n": 1})
        return [weakref.ref(item) for item in (local, plain, counter, partial, *plans, service)]

    found = references()
    gc.collect()
    assert [reference() for reference in found] == [None] * len(found)


def test_nothing_grows_with_dropped_tools() -> None:
    def run(count: int) -> None:
        for number in range(count):

            def local(n: int, note: str = str(number)) -> int:
                """Give back."""
                return n

            assert tool_plan(local).call({"n": number}).text == str(number)

    run(50)
    gc.collect()
    before = sum(isinstance(item, (ToolPlan, ToolSpecification)) for item in gc.get_objects())
    objects = len(gc.get_objects())
    run(2000)
    gc.collect()
    after = sum(isinstance(item, (ToolPlan, ToolSpecification)) for item in gc.get_objects())
    assert after <= before
    assert len(gc.get_objects()) - objects < 500


def test_executing_a_call() -> None:
    call = ToolCall("1", "add", '{"a": 1}')
    assert tool_plan(add).execute(call, None).value == 3
    assert asyncio.run(tool_plan(add).aexecute(call, None)).value == 3


def test_what_a_partial_has_bound_stays_so() -> None:
    def store(a: int, secret: str = "", **more: Any) -> str:
        """Store."""
        return f"{a} {secret} {more}"

    plan = tool_plan(functools.partial(store, secret="S"))
    arguments = {"a": 1, "secret": "mine", "b": 2}
    assert plan.call(arguments).text == "1 S {'b': 2}"
    assert plan.bind(arguments) == {"a": 1, "b": 2}


def test_many_threads_get_one_plan() -> None:
    def add(a: int) -> int:
        """Add."""
        return a

    with ThreadPoolExecutor(20) as pool:
        plans = list(pool.map(lambda _: tool_plan(add), range(200)))
    assert len(set(map(id, plans))) == 1
