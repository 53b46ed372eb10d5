"""What the arguments of a method may be, and what a service does around the loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Protocol

import pytest

from fasttool import (
    InvocationContext,
    InvocationParameters,
    Managed,
    MemoryId,
    Reprompt,
    RequestParameters,
    Result,
    RetrievedContent,
    ToolCall,
    ToolMemoryId,
    UserName,
    UserText,
    ai_service,
    system_message,
    tool,
    user_message,
)
from fasttool.errors import ApprovalRequiredError, ConfigurationError, GuardrailError
from fasttool.loop.events import RunCompleted, RunStarted, ToolExecuted
from fasttool.loop.streaming import TokenStream
from fasttool.memory import ChatMemories, MessageWindow, UnboundedMemory
from fasttool.messages import (
    AiMessage,
    Content,
    ImageContent,
    SystemMessage,
    TextContent,
    UserMessage,
)
from fasttool.models import ScriptedChatModel
from fasttool.models.stream import TextDelta

PICTURE = ImageContent(url="http://127.0.0.1/x.png")


def scripted(*texts: str) -> ScriptedChatModel:
    return ScriptedChatModel([AiMessage(text) for text in texts or ("ok",)])


def texts(model: ScriptedChatModel, number: int = 0) -> list[tuple[str, str]]:
    return [(message.role, message.text or "") for message in model.requests[number].messages]


@system_message("You are a translator.")
class Translator(Protocol):
    @user_message("Translate to {{language}}: {{text}}")
    def translate(self, text: str, language: str = "French") -> str: ...

    @system_message("You speak {{language}}.")
    def chat(self, text: str, language: str) -> str: ...

    def ask(
        self, question: Annotated[str, UserText], name: Annotated[str, UserName], *, style: str = "x"
    ) -> str: ...

    def look(self, question: str, pictures: list[Content]) -> str: ...

    @user_message("What is this?")
    def what(self, picture: ImageContent) -> str: ...

    def only(self, pictures: list[ImageContent]) -> str: ...


def test_templates_of_user_and_system_messages() -> None:
    model = scripted("a", "b", "c")
    service = ai_service(Translator, chat_model=model)
    service.translate("hi {{language}}")
    assert texts(model) == [
        ("system", "You are a translator."),
        ("user", "Translate to French: hi {{language}}"),
    ]
    service.chat("{{x}} hello", language="German")
    assert texts(model, 1) == [("system", "You speak German."), ("user", "{{x}} hello")]
    service.ask("who?", "ann")
    assert model.requests[2].messages[1] == UserMessage("who?", name="ann")


def test_contents_go_with_the_text() -> None:
    model = scripted("a", "b", "c")
    service = ai_service(Translator, chat_model=model)
    service.look("and this?", [PICTURE])
    assert model.requests[0].messages[1] == UserMessage([TextContent("and this?"), PICTURE])
    service.what(PICTURE)
    assert model.requests[1].messages[1] == UserMessage([TextContent("What is this?"), PICTURE])
    service.only([PICTURE])
    assert model.requests[2].messages[1] == UserMessage([PICTURE])


def test_a_system_message_of_the_service_may_be_a_function() -> None:
    class Chat(Protocol):
        def chat(self, text: str) -> str: ...

    def system(context: InvocationContext) -> str | None:
        return f"{context.interface}.{context.method} {context.arguments['text']}"

    model = scripted("a", "b")
    ai_service(Chat, chat_model=model, system_message=system).chat("hi")
    assert texts(model)[0] == ("system", "Chat.chat hi")
    ai_service(Chat, chat_model=model, system_message=lambda context: None).chat("hi")
    assert texts(model, 1) == [("user", "hi")]


class Helper(Protocol):
    def chat(self, conversation: Annotated[str, MemoryId], text: Annotated[str, UserText]) -> str: ...
    async def chat_later(
        self, conversation: Annotated[str, MemoryId], text: Annotated[str, UserText]
    ) -> str: ...


def test_each_conversation_has_its_memory() -> None:
    model = scripted("1", "2", "3")
    memories = ChatMemories(MessageWindow(10))
    service = ai_service(Helper, chat_model=model, memory_provider=memories.get, system_message="short")
    service.chat("a", "one")
    asyncio.run(service.chat_later("b", "two"))
    service.chat("a", "three")
    assert texts(model, 1) == [("system", "short"), ("user", "two")]
    assert [text for _, text in texts(model, 2)] == ["short", "one", "1", "three"]
    with pytest.raises(ConfigurationError, match="conversation is None"):
        service.chat(None, "x")  # type: ignore[arg-type]


def test_one_memory_for_a_service_of_one_conversation() -> None:
    class Chat(Protocol):
        def chat(self, text: str) -> str: ...

    memory = UnboundedMemory(id="mine")
    model = scripted("1", "2")
    service = ai_service(Chat, chat_model=model, memory=memory)
    service.chat("one")
    service.chat("two")
    assert [text for _, text in texts(model, 1)] == ["one", "1", "two"]
    with pytest.raises(ConfigurationError, match="not both"):
        ai_service(Chat, chat_model=model, memory=memory, memory_provider=lambda memory_id: memory)


class Caller(Protocol):
    def chat(
        self,
        text: Annotated[str, UserText],
        values: InvocationParameters,
        settings: RequestParameters | None = None,
        conversation: Annotated[str, MemoryId] = "chat 1",
    ) -> Result[str]: ...


class Database:
    pass


def test_tools_get_what_belongs_to_the_call() -> None:
    seen: list[Any] = []

    @tool("Look")
    def look(
        values: InvocationParameters,
        context: InvocationContext,
        conversation: Annotated[str, ToolMemoryId],
        database: Annotated[Database, Managed],
    ) -> str:
        seen.extend((values, context, conversation, database))
        values["seen"] = True
        return "ok"

    database = Database()
    model = ScriptedChatModel([AiMessage(tool_calls=[ToolCall("1", "look")]), AiMessage("done")])
    service = ai_service(
        Caller,
        chat_model=model,
        tools=[look],
        managed=[database],
        parameters={"temperature": 0, "seed": 1},
        memory_provider=ChatMemories().get,
    )
    values = InvocationParameters(user="ann")
    service.chat("hi", values, RequestParameters(temperature=1))
    given, context, conversation, found = seen
    assert given is values
    assert values["seen"]
    assert found is database
    assert conversation == "chat 1" == context.memory_id
    assert (context.interface, context.method) == ("Caller", "chat")
    assert context.user_message.text == "hi"
    assert context.arguments["text"] == "hi"
    assert [request.parameters for request in model.requests] == [{"temperature": 1, "seed": 1}] * 2


class Asker(Protocol):
    def ask(self, text: str) -> Result[str]: ...
    async def ask_later(self, text: str) -> Result[str]: ...


def look_up(message: UserMessage, context: InvocationContext) -> str:
    return f"\nKnown: {context.user_message.text} is 7."  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("mode", "sent", "kept"),
    [
        (RetrievedContent.STORED, [True, True], True),
        (RetrievedContent.FIRST_CALL, [True, False], False),
        (RetrievedContent.EVERY_CALL, [True, True], False),
    ],
)
@pytest.mark.parametrize("way", ["sync", "async"])
def test_retrieved_content_is_sent_and_kept_as_the_mode_says(
    mode: RetrievedContent, sent: list[bool], kept: bool, way: str
) -> None:
    @tool("Look")
    def look() -> str:
        return "seen"

    model = ScriptedChatModel([AiMessage(tool_calls=[ToolCall("1", "look")]), AiMessage("7")])
    memory = UnboundedMemory()
    service = ai_service(
        Asker, chat_model=model, tools=[look], memory=memory, retriever=look_up, retrieved_content=mode
    )
    result = service.ask("x") if way == "sync" else asyncio.run(service.ask_later("x"))
    assert result.content == "7"
    assert ["Known: x is 7." in texts(model, number)[0][1] for number in (0, 1)] == sent
    assert ("Known" in memory.messages()[0].text) is kept  # type: ignore[operator, union-attr]


def test_a_retriever_may_be_async_and_may_find_nothing() -> None:
    async def search(message: UserMessage, context: InvocationContext) -> UserMessage | None:
        await asyncio.sleep(0)
        return None if message.text == "x" else UserMessage(message.text + "!")

    model = scripted("a", "b")
    service = ai_service(Asker, chat_model=model, retriever=search)
    asyncio.run(service.ask_later("x"))
    asyncio.run(service.ask_later("y"))
    assert [texts(model, number)[0][1] for number in (0, 1)] == ["x", "y!"]
    with pytest.raises(ConfigurationError, match="search is async, and the run blocks"):
        service.ask("x")


def test_input_guardrails_change_or_refuse() -> None:
    def polite(message: UserMessage, context: InvocationContext) -> str | None:
        if "secret" in message.text:
            raise GuardrailError("No secrets.")
        return message.text + ", please" if "please" not in message.text else None

    model = scripted("a", "b")
    memory = UnboundedMemory()
    service = ai_service(Asker, chat_model=model, input_guardrails=[polite, polite], memory=memory)
    service.ask("salt")
    assert texts(model) == [("user", "salt, please")]
    with pytest.raises(GuardrailError, match="No secrets"):
        service.ask("the secret")
    assert len(model.requests) == 1
    assert len(memory.messages()) == 2


def test_output_guardrails_change_reprompt_or_refuse() -> None:
    def short(result: Result[str], context: InvocationContext) -> str | None:
        if result.content == "long":
            raise Reprompt("Be shorter.")
        if result.content == "bad":
            raise GuardrailError("Not that.")
        return "changed" if result.content == "same" else None

    model = scripted("long", "fine")
    result = ai_service(Asker, chat_model=model, output_guardrails=[short]).ask("x")
    assert result.content == "fine"
    assert texts(model, 1) == [("user", "x"), ("assistant", "long"), ("user", "Be shorter.")]
    assert (
        ai_service(Asker, chat_model=scripted("same"), output_guardrails=[short]).ask("x").content
        == "changed"
    )
    with pytest.raises(GuardrailError, match="Not that") as caught:
        ai_service(Asker, chat_model=scripted("bad"), output_guardrails=[short]).ask("x")
    assert caught.value.result.content == "bad"
    with pytest.raises(GuardrailError, match=r"was not accepted: Be shorter\."):
        ai_service(Asker, chat_model=scripted("long", "long"), output_guardrails=[short]).ask("x")


def test_a_call_is_told_of_once_however_often_the_model_is_asked() -> None:
    def twice(result: Result[str], context: InvocationContext) -> None:
        if len(result.responses) < 2:
            raise Reprompt("Again.")

    heard: list[Any] = []
    model = scripted("a", "b")
    ai_service(Asker, chat_model=model, output_guardrails=[twice], listeners=[heard.append]).ask("x")
    kinds = [type(event) for event in heard]
    assert kinds.count(RunStarted) == kinds.count(RunCompleted) == 1
    assert heard[-1].result.content == "b"


class Streamer(Protocol):
    def chat(self, text: str) -> TokenStream: ...
    def events(self, text: str) -> AsyncIterator[Any]: ...


def test_a_method_may_return_a_stream() -> None:
    @tool("Look")
    def look() -> str:
        return "seen"

    def model() -> ScriptedChatModel:
        return ScriptedChatModel([AiMessage(tool_calls=[ToolCall("1", "look")]), AiMessage("hello you")])

    stream = ai_service(Streamer, chat_model=model(), tools=[look]).chat("hi")
    events = list(stream)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "hello you"
    assert any(isinstance(event, ToolExecuted) for event in events)
    assert stream.result is not None
    assert stream.result.content == "hello you"

    async def read() -> list[Any]:
        return [event async for event in ai_service(Streamer, chat_model=model(), tools=[look]).events("hi")]

    assert [type(event) for event in asyncio.run(read())] == [type(event) for event in events]


def test_text_is_held_back_until_the_guardrails_have_seen_it() -> None:
    service = ai_service(
        Streamer, chat_model=scripted("rude"), output_guardrails=[lambda result, context: "polite"]
    )
    events = list(service.chat("hi"))
    assert not [event for event in events if isinstance(event, TextDelta)]
    assert events[-1].result.content == "polite"  # type: ignore[union-attr]


def test_a_service_is_a_tool_of_another() -> None:
    class Expert(Protocol):
        @tool("Asks the expert", name="ask_expert")
        def ask(self, question: str) -> str: ...

    class Boss(Protocol):
        def chat(self, text: str) -> str: ...
        async def chat_later(self, text: str) -> str: ...

    expert = ai_service(Expert, chat_model=scripted("42", "43"))

    def boss() -> Boss:
        model = ScriptedChatModel(
            [
                AiMessage(tool_calls=[ToolCall("1", "ask_expert", {"question": "why?"})]),
                lambda request: AiMessage(f"He says {request.messages[-1].text}"),
            ]
        )
        return ai_service(Boss, chat_model=model, tools=[expert])

    assert boss().chat("why?") == "He says 42"
    assert asyncio.run(boss().chat_later("why?")) == "He says 43"


def test_a_call_that_waits_for_a_person_has_to_have_a_place_for_it() -> None:
    @tool("Pay", requires_approval=True)
    def pay() -> str:
        raise AssertionError("never called")

    class Plain(Protocol):
        def chat(self, text: str) -> str: ...
        def ask(self, text: str) -> Result[str]: ...

    def service() -> Plain:
        return ai_service(
            Plain, chat_model=ScriptedChatModel([AiMessage(tool_calls=[ToolCall("1", "pay")])]), tools=[pay]
        )

    paused = service().ask("x").paused
    assert paused is not None
    assert [call.name for call in paused.waiting] == ["pay"]
    with pytest.raises(ApprovalRequiredError, match="waits for a decision on pay") as caught:
        service().chat("x")
    assert caught.value.paused.waiting == paused.waiting


class TwoTexts(Protocol):
    def chat(self, a: Annotated[str, UserText], b: Annotated[str, UserText]) -> str: ...


class TwoSources(Protocol):
    @user_message("Say {{a}}")
    def chat(self, a: Annotated[str, UserText]) -> str: ...


class UnknownPlace(Protocol):
    @user_message("Say {{b}}")
    def chat(self, a: str) -> str: ...


class Variadic(Protocol):
    def chat(self, *texts: str) -> str: ...


class AsyncStream(Protocol):
    async def chat(self, text: str) -> TokenStream: ...


@pytest.mark.parametrize(
    ("interface", "text"),
    [
        (TwoTexts, "two arguments for the same: the user's message"),
        (TwoSources, "has a template and an argument marked UserText"),
        (UnknownPlace, r"\{\{b\}\}, which is no argument; it may have a, current_date"),
        (Variadic, "has no name in a template"),
        (AsyncStream, "declare it with def, not async def"),
    ],
)
def test_methods_that_cannot_be_served(interface: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        ai_service(interface, chat_model=scripted())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"context": InvocationContext()}, "makes the context of each call"),
        ({"max_reprompts": -1}, "max_reprompts"),
        ({"retrieved_content": "stored"}, "must be a RetrievedContent"),
        ({"managed": {int: "x"}}, "maps a type to an object of it"),
        ({"colour": "red"}, "has no option colour"),
    ],
)
def test_wrong_options(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        ai_service(Asker, chat_model=scripted(), **options)


def test_templates_must_be_text() -> None:
    with pytest.raises(ConfigurationError, match="must be text that is not empty"):
        user_message(" ")
    assert SystemMessage("x").text == "x"
