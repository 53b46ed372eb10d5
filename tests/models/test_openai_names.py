"""Names of tools that OpenAI refuses, over a real connection: others on the wire, their own in the answer."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from fasttool.messages import AiMessage, ChatRequest, ToolCall, ToolResultMessage, UserMessage
from fasttool.models import OpenAIChatModel
from fasttool.specification import ToolSpecification

pytest.importorskip("httpcore")
pytest.importorskip("aiohttp")


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that calls every tool it is shown, and what it was sent."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append(request)
            calls = [
                {"id": str(number), "function": {"name": tool["function"]["name"], "arguments": "{}"}}
                for number, tool in enumerate(request["tools"])
            ]
            body = json.dumps({"choices": [{"message": {"tool_calls": calls}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *parts: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{found.server_address[1]}", requests
        found.shutdown()
        thread.join()


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_round(server: tuple[str, list[dict[str, Any]]], asynchronous: bool) -> None:
    address, requests = server
    model = OpenAIChatModel("m", base_url=address, api_key="")
    request = ChatRequest(
        [
            UserMessage("hi"),
            AiMessage(None, (ToolCall("1", "calendar.list"),)),
            ToolResultMessage("1", "calendar.list", "ok"),
        ],
        [ToolSpecification("calendar.list"), ToolSpecification("add")],
    )

    async def ask() -> Any:
        try:
            return await model.achat(request)
        finally:
            await model.aclose()

    answer = asyncio.run(ask()) if asynchronous else model.chat(request)
    model.close()
    assert [call.name for call in answer.message.tool_calls] == ["calendar.list", "add"]
    (sent,) = requests
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["calendar_list", "add"]
    assert sent["messages"][1]["tool_calls"][0]["function"]["name"] == "calendar_list"
