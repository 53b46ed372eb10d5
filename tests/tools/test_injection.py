"""Parameters that the framework fills."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any

import pytest

from fasttool import InvocationContext, InvocationParameters, Managed, P, ToolMemoryId, tool_plan
from fasttool.errors import ConfigurationError

SEEN: list[Any] = []


class Pool:
    """Cannot be copied or pickled."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class Clock(Managed):
    """Is managed by its base class."""


class UserParameters(InvocationParameters):
    """A caller's own kind."""

    user = "ann"


def everything(
    memory_id: Annotated[str, ToolMemoryId],
    parameters: InvocationParameters,
    context: InvocationContext,
    clock: Clock,
    pool: Annotated[Pool, Managed],
) -> None:
    SEEN.extend((memory_id, parameters, context, clock, pool))


def test_a_tool_whose_parameters_are_all_injected_has_none_for_the_model() -> None:
    assert tool_plan(everything).specification.parameters is None


def test_injected_values_are_handed_on_as_they_are() -> None:
    clock, pool, parameters = Clock(), Pool(), InvocationParameters(user="ann")
    context = InvocationContext("conversation 7", parameters, [clock, pool])
    for arguments in ("", "{}", '{"pool": 1, "memory_id": "mine"}'):
        SEEN.clear()
        assert tool_plan(everything).call(arguments, context).text == "Success"
        assert SEEN[0] == "conversation 7"
        for found, given in zip(SEEN[1:], (parameters, context, clock, pool), strict=True):
            assert found is given


def test_they_stand_anywhere_among_the_parameters() -> None:
    def mixed(
        a: int,
        context: InvocationContext,
        /,
        b: int,
        who: Annotated[str, ToolMemoryId],
        *,
        c: int = 3,
        **rest: int,
    ) -> str:
        return f"{a} {context.memory_id} {b} {who} {c} {rest}"

    plan = tool_plan(mixed)
    assert list(plan.specification.parameters["properties"]) == ["a", "b", "c"]
    text = plan.call('{"a": 1, "b": 2, "who": 9, "context": 8, "d": 4}', InvocationContext("m")).text
    assert text == "1 m 2 m 3 {'d': 4}"
    assert plan.bind('{"a": 1, "b": 2}') == {"a": 1, "b": 2, "c": 3}


def test_methods_and_async_tools_get_them_too() -> None:
    class Tools:
        async def ask(self, text: str, parameters: InvocationParameters) -> str:
            return f"{text} {parameters['user']}"

        def block(self, text: str, parameters: InvocationParameters) -> str:
            return f"{text} {parameters['user']}"

    context = InvocationContext(parameters=InvocationParameters(user="ann"))
    for method in (Tools().ask, Tools().block):
        result = asyncio.run(tool_plan(method).acall({"text": "hi"}, context))
        assert result.text == "hi ann"


def test_without_an_invocation_there_is_the_default_one() -> None:
    def who(memory_id: Annotated[str, ToolMemoryId], parameters: InvocationParameters) -> str:
        return f"{memory_id} {parameters}"

    assert tool_plan(who).call(None).text == "default {}"


def test_a_subclass_of_the_parameters_is_asked_for_by_type() -> None:
    def who(parameters: UserParameters) -> str:
        return parameters.user

    given = UserParameters()
    assert tool_plan(who).call("", InvocationContext(parameters=given)).text == "ann"
    with pytest.raises(ConfigurationError, match="takes UserParameters, but the invocation was given Inv"):
        tool_plan(who).call("", InvocationContext())


def test_what_is_missing_is_told_to_the_application_not_to_the_model() -> None:
    def tick(clock: Clock) -> str:
        return "tick"

    def maybe(clock: Clock | None = None) -> str:
        return "none" if clock is None else "some"

    with pytest.raises(ConfigurationError, match="takes a Clock, but the invocation was given none"):
        tool_plan(tick).call("")
    assert tool_plan(maybe).call("").text == "none"
    assert tool_plan(maybe).call("", InvocationContext(managed=[Clock()])).text == "some"


def test_a_memory_id_of_another_type_is_refused() -> None:
    def who(memory_id: Annotated[int, ToolMemoryId]) -> str:
        return str(memory_id)

    assert tool_plan(who).call("", InvocationContext(7)).text == "7"
    with pytest.raises(
        ConfigurationError, match="takes the memory id as int, but the invocation has 'default'"
    ):
        tool_plan(who).call("")


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[str, ToolMemoryId, P(default="x")],
        Annotated[InvocationParameters, P(default={})],
        Annotated[Clock, P(default=1)],
        Annotated[InvocationContext, P(default=1)],
    ],
)
def test_a_default_for_an_injected_parameter_is_refused(annotation: Any) -> None:
    def wrong(value: int) -> None: ...

    wrong.__annotations__["value"] = annotation
    with pytest.raises(ConfigurationError, match="value of tool wrong is filled by the framework"):
        tool_plan(wrong)


def test_a_default_in_python_is_refused_unless_it_is_none() -> None:
    def wrong(memory_id: Annotated[str, ToolMemoryId] = "x") -> None: ...

    with pytest.raises(ConfigurationError, match="cannot have a default"):
        tool_plan(wrong)


def test_wrong_marks_are_refused_with_the_way_out() -> None:
    def bare(memory_id: ToolMemoryId) -> None: ...
    def union(value: Annotated[int | str, Managed]) -> None: ...

    with pytest.raises(ConfigurationError, match=r"write Annotated\[str, ToolMemoryId\]"):
        tool_plan(bare)
    with pytest.raises(ConfigurationError, match="its type must be one class"):
        tool_plan(union)


def test_the_context_checks_what_it_is_given() -> None:
    with pytest.raises(ConfigurationError, match="InvocationParameters or a mapping"):
        InvocationContext(parameters=3)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="maps a type to an object of it"):
        InvocationContext(managed={int: "text"})
    context = InvocationContext(parameters={"user": "ann"})  # type: ignore[arg-type]
    assert type(context.parameters) is InvocationParameters
    assert context.id == context.id != InvocationContext().id


def test_a_managed_object_of_the_very_type_comes_before_one_of_a_subclass() -> None:
    class Special(Clock):
        pass

    special, plain = Special(), Clock()
    context = InvocationContext(managed=[special, plain])
    assert context.managed_of(Clock) is plain
    assert InvocationContext(managed=[special]).managed_of(Clock) is special
