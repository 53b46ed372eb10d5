from __future__ import annotations

import contextlib
import http.server
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-m", "fasttool", "demo"]
LIMIT = 300  # seconds; a busy machine is slow

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


@pytest.fixture(autouse=True)
def questions_are_installed() -> None:
    if importlib.util.find_spec("bfcl_eval") is None:
        sentence = "the demo needs bfcl-eval (make venv installs it)"
        if os.environ.get("CI", "0") not in ("", "0"):
            pytest.fail(sentence, pytrace=False)
        pytest.skip(sentence)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, env=environment, timeout=LIMIT, check=False
    )


# --------------------------------------------------------------------------- with the local model
@pytest.mark.model
def test_in_a_pipe_it_prints_lines() -> None:
    done = run("--questions", "4")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "Part 1: 4 BFCL questions to SmolLM2-135M-Instruct on this machine"
    assert [line.split(".")[0].strip() for line in lines if re.match(r" +\d+\. ", line)] == list("1234")
    judged = [line for line in lines if re.search(r"\(\d[\d,]* ms model, \d[\d,]* µs fasttool\)$", line)]
    right = sum(line.strip().startswith("right") for line in judged)
    assert len(judged) == 4
    assert f"\n{right} of 4 right (simple_python " in done.stdout
    assert len([line for line in lines if line.startswith("  Q: ")]) == 7
    assert len([line for line in lines if line.startswith("  A: ")]) == 7
    assert lines[-1] == "  fasttool demo --base-url http://127.0.0.1:11434/v1 --model NAME"


@pytest.mark.model
def test_as_json_it_is_one_document() -> None:
    done = run("--questions", "4", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    questions = document["questions"]
    assert [question["category"] for question in questions] == ["simple_python"] * 3 + ["multiple"]
    assert document["totals"]["questions"] == 4
    assert document["totals"]["right"] == sum(question["right"] for question in questions)
    for question in questions:
        assert question["right"] == (question["reason"] == "")
        assert question["model_ms"] > 0
        assert question["fasttool_us"] > 0
        assert len(question["bound"]) <= len(question["calls"])
    assert any(question["bound"] for question in questions)
    functions = document["functions"]
    assert len(functions) == 7
    for function in functions:
        assert function["right"] == (function["expected"] in function["answer"])
    # The functions that are named are the ones that ran: what they gave shows it.
    multiplied = [
        call
        for function in functions
        for call in function["calls"]
        if call["name"] == "multiply" and not call["result"].startswith("Wrong")
    ]
    for call in multiplied:
        values = json.loads(call["arguments"])
        assert float(call["result"]) == float(values["first"]) * float(values["second"])


@pytest.mark.model
@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_in_a_terminal_the_table_fits_80_columns() -> None:
    text, code = run_in_terminal("--questions", "2")
    assert code == 0
    assert "call with its bound values" in text
    assert re.search(r"^  2 ", text, re.MULTILINE)
    assert re.search(r"\d of 2 right \(simple_python \d/2\)", text)
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert "✓" in text or "✗" in text


def run_in_terminal(*arguments: str) -> tuple[str, int]:
    """Run the demo in a pseudo-terminal, and return what stays on the screen, without its colours."""
    import fcntl
    import struct
    import termios

    parent, child = os.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("COLUMNS", None)
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=child, stdout=child, stderr=child, env=environment
    )
    os.close(child)
    data = b""
    with contextlib.suppress(OSError):  # how Linux says that the other side has gone
        while block := os.read(parent, 65536):
            data += block
    os.close(parent)
    text = data.decode().replace("\r\n", "\n")
    # A line that is drawn again begins with a carriage return and an order to erase.
    lines = [line.rpartition("\r")[2] for line in text.split("\n")]
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", "\n".join(lines)), process.wait(LIMIT)


def children_of(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(path.parent.name))
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.model
@needs_proc
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_however_it_ends_the_server_ends(number: signal.Signals, code: int) -> None:
    process = subprocess.Popen(
        COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            if line.startswith("  1. "):
                break
        servers = children_of(process.pid)
        assert len(servers) == 1
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # what Ctrl-C in a terminal does
        else:
            process.send_signal(number)
        assert process.wait(LIMIT) == code
        assert process.stderr.read() == ""
    assert wait_until(lambda: not is_alive(servers[0]))


@pytest.mark.model
@needs_proc
def test_ctrl_c_while_the_server_starts() -> None:
    process = subprocess.Popen([*COMMAND], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        assert wait_until(lambda: bool(children_of(process.pid)))
        servers = children_of(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 130
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert wait_until(lambda: not is_alive(servers[0]))


# ------------------------------------------------------------------------------- with an endpoint
class Endpoint:
    """An OpenAI-compatible endpoint on this machine that replies as it is told."""

    def __init__(self, reply: Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append(body)
                endpoint.keys.append(self.headers["Authorization"])
                status, form = reply(body)
                data = json.dumps(form).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments: Any) -> None:
                """Be quiet."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    @contextlib.contextmanager
    def served(self) -> Iterator[Endpoint]:
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            self.server.shutdown()
            thread.join()
            self.server.server_close()


def message(text: str | None = None, *calls: tuple[str, str]) -> tuple[int, dict[str, Any]]:
    tool_calls = [
        {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(calls)
    ]
    body = {"role": "assistant", "content": text, **({"tool_calls": tool_calls} if calls else {})}
    reason = "tool_calls" if calls else "stop"
    return 200, {"choices": [{"index": 0, "message": body, "finish_reason": reason}]}


def clever(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Answers the first questions in five ways, the demo's own with a call and an answer."""
    asked = next(entry["content"] for entry in reversed(body["messages"]) if entry["role"] == "user")
    last = body["messages"][-1]
    if last["role"] == "tool":
        return message(f"It is {last['content']}.")
    match asked:
        case "What is 17 times 23?":
            return message(None, ("multiply", '{"first": 17, "second": 23}'))
        case "What is 144 divided by 6?":
            return message(None, ("divide", '{"first": 144, "second": 0}'))
        case "Read the file todo.txt.":
            return message(None, ("read_file", '{"file_name": "../todo.txt"}'))
        case "Which files are there?":
            return message(None, ("delete_file", "{}"))
    if asked.startswith("Find the area of a triangle"):
        return message(None, ("calculate_triangle_area", '{"base": "10", "height": 5.0}'))
    if asked.startswith("Calculate the factorial"):
        return message(None, ("math_factorial", '{"number": "five"}'))
    if asked.startswith("Calculate the hypotenuse"):
        return message(None, ("math_hypotenuse", "{}"))
    if asked.startswith("Find the roots"):
        return message("I would rather not.")
    if asked.startswith("Solve a quadratic"):
        return 500, {"error": {"message": "overloaded"}}
    return message("No idea.")


def test_an_endpoint_of_yours() -> None:
    with Endpoint(clever).served() as endpoint:
        done = run(
            "--questions", "6", "--base-url", endpoint.url, "--model", "m", "--api-key", "secret", "--json"
        )
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["model"] == f"m at {endpoint.url}"
    results = document["questions"]
    assert [(result["right"], result["reason"]) for result in results[:4]] == [
        (True, ""),
        (False, results[1]["reason"]),
        (False, 'There is no tool named "math_hypotenuse"; available: math_hypot.'),
        (False, "no call made, 1 call expected."),
    ]
    assert results[0]["calls"] == [
        {"name": "calculate_triangle_area", "arguments": '{"base": "10", "height": 5.0}'}
    ]
    assert results[0]["bound"] == [
        {"name": "calculate_triangle_area", "arguments": {"base": 10, "height": 5}}
    ]
    assert '"number" must be an integer, got "five"' in results[1]["reason"]
    assert results[1]["bound"] == []
    assert "overloaded" in results[4]["reason"]
    assert document["totals"]["categories"] == {
        "simple_python": {"right": 1, "questions": 5},
        "multiple": {"right": 0, "questions": 1},
    }
    functions = {function["question"]: function for function in document["functions"]}
    product = functions["What is 17 times 23?"]
    assert (product["right"], product["answer"]) == (True, "It is 391.0.")
    assert product["calls"] == [
        {"name": "multiply", "arguments": '{"first": 17, "second": 23}', "result": "391.0"}
    ]
    assert "division by zero" in functions["What is 144 divided by 6?"]["answer"]
    assert "There is no file ../todo.txt" in functions["Read the file todo.txt."]["answer"]
    unknown = functions["Which files are there?"]
    assert unknown["right"] is False
    assert unknown["answer"].startswith('There is no tool named "delete_file"')
    assert [call["name"] for call in unknown["calls"]] == ["delete_file"]
    assert {body["model"] for body in endpoint.requests} == {"m"}
    assert set(endpoint.keys) == {"Bearer secret"}


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-outside")
    with Endpoint(clever).served() as endpoint:
        command = [*COMMAND, "--questions", "1", "--base-url", endpoint.url, "--model", "m"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
    assert "1 of 1 right (simple_python 1/1)" in done.stdout
    assert set(endpoint.keys) == {"Bearer from-outside"}


@pytest.mark.parametrize(
    ("status", "said"), [(401, "no such key"), (404, "no such model"), (429, "slow down"), (500, "broken")]
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_an_endpoint_that_refuses_is_one_sentence(status: int, said: str, form: list[str]) -> None:
    def refuse(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return status, {"error": {"message": said}}

    with Endpoint(refuse).served() as endpoint:
        done = run("--base-url", endpoint.url, "--model", "m", *form)
    assert done.returncode == 1
    assert done.stderr.startswith("fasttool: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert "wrong" not in done.stdout
    assert not form or done.stdout == ""


def test_an_endpoint_that_is_down_is_one_sentence() -> None:
    endpoint = Endpoint(clever)
    endpoint.server.server_close()
    done = run("--base-url", endpoint.url, "--model", "m")
    assert done.returncode == 1
    assert done.stderr.startswith("fasttool: ")
    assert f"127.0.0.1:{endpoint.server.server_port}" in done.stderr
    assert done.stderr.count("\n") == 1
