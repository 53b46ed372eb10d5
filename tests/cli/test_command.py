from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import fasttool
from fasttool._ext import compiled_modules
from fasttool.cli import main

TOOLS = '''
from fasttool import tool

print("imported")

def add(first: int, second: int = 0) -> int:
    """Adds 数字."""
    return first + second

class Weather:
    @tool("Temperature of a city")
    def temperature(self, city: str) -> int:
        return 27

    @tool("Rain in a city")
    def rain(self, city: str) -> bool:
        return False

class Plain:
    pass

def silent(first: int) -> int:
    return first

weather = Weather()
plain = Plain()
number = 3
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with modules that only it has."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name, text in {
        "my_tools": TOOLS,
        "failing": "raise ValueError('no\\nluck')",
        "leaving": "raise SystemExit(0)",
        "needing": "import a_package_that_is_not_there",
    }.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    printed = capsys.readouterr().out
    assert f"fasttool {fasttool.__version__}\n" in printed
    for name, compiled in compiled_modules().items():
        assert f"{name:<12} {'compiled' if compiled else 'pure Python'}\n" in printed
    assert all(package in printed for package in ("aiohttp", "httpcore", "xllamacpp", "rich"))


def test_info_as_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fasttool.cli.info.EXTRAS, "none", ("a-package-that-is-not-there",))
    assert main(["info", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["version"] == fasttool.__version__
    assert report["python"]["version"].split(".")[:2] == [str(part) for part in sys.version_info[:2]]
    assert set(report["core"]) == set(compiled_modules())
    assert report["extras"]["none"] == {"a-package-that-is-not-there": None}


@pytest.mark.usefixtures("folder")
class TestSchema:
    def test_of_a_function(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["schema", "my_tools:add"]) == 0
        captured = capsys.readouterr()
        (entry,) = json.loads(captured.out)
        assert captured.out.startswith("[\n  {\n")
        assert "Adds 数字." in captured.out
        assert entry["type"] == "function"
        assert entry["function"]["name"] == "add"
        assert entry["function"]["parameters"]["required"] == ["first"]
        assert captured.err == "imported\n"

    def test_of_an_object_compact(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["schema", "my_tools:weather", "--json"]) == 0
        printed = capsys.readouterr().out
        assert printed.count("\n") == 1
        assert ": " not in printed
        assert [entry["function"]["name"] for entry in json.loads(printed)] == ["temperature", "rain"]

    def test_of_one_method(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["schema", "my_tools:weather.rain", "--json"]) == 0
        assert [entry["function"]["name"] for entry in json.loads(capsys.readouterr().out)] == ["rain"]

    @pytest.mark.parametrize(
        ("profile", "key", "properties"),
        [
            (
                "openai",
                "parameters",
                {"first": {"type": "integer"}, "second": {"type": "integer", "default": 0}},
            ),
            (
                "openai-strict",
                "parameters",
                {
                    "first": {"type": "integer"},
                    "second": {"type": ["integer", "null"], "description": "Default: 0."},
                },
            ),
            (
                "anthropic",
                "input_schema",
                {"first": {"type": "integer"}, "second": {"type": "integer", "default": 0}},
            ),
            (
                "anthropic-strict",
                "input_schema",
                {"first": {"type": "integer"}, "second": {"type": "integer", "description": "Default: 0."}},
            ),
            (
                "gemini",
                "parameters",
                {"first": {"type": "integer"}, "second": {"type": "integer", "description": "Default: 0."}},
            ),
            (
                "json_schema",
                "parameters",
                {"first": {"type": "integer"}, "second": {"type": "integer", "default": 0}},
            ),
        ],
    )
    def test_in_a_dialect(
        self, profile: str, key: str, properties: dict[str, object], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["schema", "my_tools:add", "--profile", profile]) == 0
        captured = capsys.readouterr()
        (entry,) = json.loads(captured.out)
        form = entry.get("function", entry)
        assert form["name"] == "add"
        assert form[key]["properties"] == properties
        assert form.get("strict") is (True if profile.endswith("strict") else None)
        moved = "fasttool schema: add: second: default is moved to the description.\n" in captured.err
        assert moved == ("description" in form[key]["properties"]["second"])

    def test_of_a_tool_that_says_nothing_of_itself(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["schema", "my_tools:silent"]) == 0
        captured = capsys.readouterr()
        assert json.loads(captured.out)[0]["function"]["name"] == "silent"
        assert "fasttool schema: Tool silent has no description: give it a docstring" in captured.err

    @pytest.mark.parametrize(
        ("target", "sentence"),
        [
            ("nowhere:add", "There is no module named nowhere."),
            ("my_tools.sub:add", "There is no module named my_tools.sub."),
            ("my_tools:nothing", "Module my_tools has no nothing."),
            ("my_tools:weather.snow", "Module my_tools has no weather.snow."),
            ("my_tools:number", "int object has no method marked with @tool"),
            ("my_tools:plain", "Plain object has no method marked with @tool"),
            ("my_tools:Weather", "give Weather()"),
            ("failing:add", "Module failing cannot be imported: ValueError: no luck."),
            ("leaving:add", "Module leaving cannot be imported: SystemExit: 0."),
            (
                "needing:add",
                "Module needing cannot be imported: No module named 'a_package_that_is_not_there'.",
            ),
            ("my_tools", "The target must be MODULE:NAME"),
            (":add", "The target must be MODULE:NAME"),
            ("my_tools:", "The target must be MODULE:NAME"),
            (".my_tools:add", "cannot be imported"),
        ],
    )
    def test_what_is_wrong_is_one_sentence(
        self, capsys: pytest.CaptureFixture[str], target: str, sentence: str
    ) -> None:
        assert main(["schema", target]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert sentence in captured.err
        assert captured.err.removeprefix("imported\n").startswith("fasttool schema: ")
        assert captured.err.removeprefix("imported\n").count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "required: COMMAND"),
        (["nothing"], "invalid choice: 'nothing'"),
        (["schema"], "required: MODULE:NAME"),
        (["demo", "--questions", "0"], "must be 1 to 500, got '0'"),
        (["demo", "--questions", "many"], "must be 1 to 500, got 'many'"),
        (["demo", "--base-url", "http://127.0.0.1:1/v1"], "need --model"),
    ],
)
def test_wrong_use(capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("module", ["fasttool", "fasttool.cli"])
def test_the_module_is_the_command(module: str) -> None:
    command = [sys.executable, "-m", module]
    done = subprocess.run([*command, "info", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["version"] == fasttool.__version__
    failed = subprocess.run([*command, "schema", "json:nothing"], capture_output=True, text=True, check=False)
    assert (failed.returncode, failed.stderr) == (2, "fasttool schema: Module json has no nothing.\n")


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    command = f"{sys.executable} -m fasttool schema json:dumps | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_info_loads_no_http_client_and_no_rich() -> None:
    script = (
        "import sys; from fasttool.cli import main; main(['info', '--json']); "
        "print(sorted({'httpcore', 'aiohttp', 'rich', 'xllamacpp', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
