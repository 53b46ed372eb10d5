"""ai_service: an interface becomes an object that talks to a model."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from typing import Annotated, Any, Protocol

import pytest

from fasttool import ErrorPolicy, P, Result, ReturnBehavior, ToolCall, ai_service, tool
from fasttool.errors import ConfigurationError, ToolArgumentsError
from fasttool.messages import AiMessage, ImageContent, SystemMessage, TextContent, UserMessage
from fasttool.models import ScriptedChatModel


class WeatherTools:
    @tool("Returns the current temperature of a city, in °C")
    def get_temperature(self, city: Annotated[str, P("city name")]) -> int:
        return 27


class Assistant(Protocol):
    """An assistant."""

    def chat(self, message: str) -> str:
        """Answer."""
        ...

    async def chat_later(self, message: str) -> str: ...
    def tell(self, message: str) -> None: ...
    def ask(self, message: str) -> Result[str]: ...
    def say(self, message: str) -> AiMessage: ...


CALL = AiMessage(tool_calls=[ToolCall("1", "get_temperature", '{"city": "Oslo"}')])


def scripted(*replies: Any) -> ScriptedChatModel:
    return ScriptedChatModel(replies or [CALL, AiMessage("27 °C")])


def service(model: ScriptedChatModel, **options: Any) -> Assistant:
    return ai_service(Assistant, chat_model=model, tools=[WeatherTools()], **options)


def test_each_kind_of_return():
    assert service(scripted()).chat("hot?") == "27 °C"
    assert asyncio.run(service(scripted()).chat_later("hot?")) == "27 °C"
    assert service(scripted()).tell("hot?") is None
    assert service(scripted()).say("hot?") == AiMessage("27 °C")
    result = service(scripted()).ask("hot?")
    assert result.content == "27 °C"
    assert [execution.result.value for execution in result.executions] == [27]


def test_calls_share_nothing():
    model = scripted(AiMessage("a"), AiMessage("b"))
    assistant = service(model)
    assert [assistant.chat("1"), assistant.chat("2")] == ["a", "b"]
    assert [len(request.messages) for request in model.requests] == [1, 1]


def test_the_system_message_comes_first():
    model = scripted(AiMessage("a"))
    service(model, system_message="be short").chat("hi")
    assert list(model.requests[0].messages) == [SystemMessage("be short"), UserMessage("hi")]


@pytest.mark.parametrize(
    "message",
    [
        UserMessage("hi"),
        "hi",
        [TextContent("hi"), ImageContent(url="http://127.0.0.1/x.png")],
        TextContent("hi"),
    ],
)
def test_what_a_message_may_be(message: Any):
    model = scripted(AiMessage("a"))
    service(model).chat(message)
    assert model.requests[0].messages[0].text == "hi"


@pytest.mark.parametrize("message", [None, 3, {"a": 1}])
def test_what_it_may_not_be(message: Any):
    with pytest.raises(ConfigurationError, match=r"must be text|holds text"):
        service(scripted()).chat(message)


def test_methods_look_like_those_of_the_interface():
    assistant = service(scripted())
    assert list(inspect.signature(assistant.chat).parameters) == ["message"]
    assert assistant.chat.__doc__ == "Answer."
    assert inspect.iscoroutinefunction(assistant.chat_later)
    assert assistant.chat(message="by name") == "27 °C"
    with pytest.raises(TypeError):
        assistant.chat("a", "b")  # type: ignore[call-arg]


def test_an_abstract_class_serves_as_well():
    class Helper(ABC):
        @abstractmethod
        def help(self, message: str) -> str: ...

    helper = ai_service(Helper, chat_model=scripted(AiMessage("yes")))
    assert helper.help("me") == "yes"
    assert isinstance(helper, Helper)


def test_inherited_methods_are_served():
    class More(Assistant, Protocol):
        def more(self, message: str) -> str: ...

    more = ai_service(More, chat_model=scripted(AiMessage("a"), AiMessage("b")))
    assert (more.chat("x"), more.more("x")) == ("a", "b")


def test_options_reach_the_loop():
    model = scripted(AiMessage(tool_calls=[ToolCall("1", "get_temperature", "{}")]), AiMessage("sorry"))
    options = {
        "arguments_error": ErrorPolicy.TELL_MODEL,
        "tool_choice": "required",
        "parameters": {"seed": 1},
    }
    assert service(model, **options).chat("x") == "sorry"
    assert model.requests[0].tool_choice == "required"
    assert model.requests[1].parameters == {"seed": 1}
    with pytest.raises(ToolArgumentsError):
        service(scripted(AiMessage(tool_calls=[ToolCall("1", "get_temperature", "{}")]))).chat("x")


def immediate(value: Any) -> Any:
    @tool("Give", return_behavior=ReturnBehavior.IMMEDIATE)
    def give() -> Any:
        return value

    model = scripted(AiMessage(tool_calls=[ToolCall("1", "give")]))
    return ai_service(Assistant, chat_model=model, tools=[give])


def test_a_result_for_the_caller():
    assert immediate("the order").chat("x") == "the order"
    assert immediate(None).chat("x") is None
    assert immediate(3).tell("x") is None
    result = immediate(3).ask("x")
    assert (result.content, result.executions[0].result.value) == (None, 3)
    with pytest.raises(ConfigurationError, match="declare it to return Result"):
        immediate(3).chat("x")


class NoMethods(Protocol): ...


class TwoArguments(Protocol):
    def chat(self, message: str, other: str) -> str: ...


class NoArguments(Protocol):
    def chat(self) -> str: ...


class OddReturn(Protocol):
    def chat(self, message: str) -> complex: ...


class OddName(Protocol):
    def chat(self, message: str) -> Missing: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("interface", "text"),
    [
        (NoMethods, "NoMethods has no public method"),
        (TwoArguments, "must take one argument besides self"),
        (NoArguments, "must take one argument besides self"),
        (OddReturn, r"returns complex, with complex; accepted: str, AiMessage, None"),
        (OddName, "'Missing', a name that is not defined"),
        ("Assistant", "needs a class, your Protocol, got str"),
    ],
)
def test_interfaces_that_cannot_be_served(interface: Any, text: str):
    with pytest.raises(ConfigurationError, match=text):
        ai_service(interface, chat_model=scripted())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"chat_model": object()}, "must have the methods chat and achat, got object"),
        ({"system_message": 3}, "system_message must be text or a function of the invocation, got int"),
        ({"tools": [WeatherTools]}, "must be an object, not the class WeatherTools"),
        ({"tools": [WeatherTools(), WeatherTools()]}, "Two tools are named get_temperature"),
        ({"tools": [[WeatherTools()]]}, "is a collection nested"),
        ({"tools": [object()]}, "no method marked with @tool"),
        ({"tools": WeatherTools()}, "tools must be a list of tools"),
        ({"max_rounds": "3"}, "max_rounds"),
    ],
)
def test_wrong_options(options: dict[str, Any], text: str):
    with pytest.raises(ConfigurationError, match=text):
        ai_service(Assistant, **{"chat_model": scripted(), **options})


def test_an_interface_is_inspected_once_and_goes_when_it_is_dropped() -> None:
    import gc
    import weakref

    from fasttool.service import interface as module

    def make() -> Any:
        class Temporary(Protocol):
            def chat(self, message: str) -> str: ...

        first = ai_service(Temporary, chat_model=scripted(AiMessage("a")))
        plans = module._PLANS[Temporary]
        ai_service(Temporary, chat_model=scripted(AiMessage("b")))
        assert module._PLANS[Temporary] is plans
        assert first.chat("x") == "a"
        return weakref.ref(Temporary)

    dropped = make()
    gc.collect()
    assert dropped() is None
