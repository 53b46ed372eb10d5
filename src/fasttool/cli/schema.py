"""``fasttool schema``: the tools array that a model would get for a function or an object."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import sys
from typing import Any

from fasttool import json_text
from fasttool.errors import ConfigurationError
from fasttool.models.openai_codec import tool_bytes
from fasttool.tools import find_tools
from fasttool.tools.service import missing_description

WRONG_USE = 2  # argparse's own code


def add_to(commands: Any) -> None:
    """Add the command to a parser's commands."""
    parser = commands.add_parser("schema", help="print the tools array of a function or an object")
    parser.add_argument(
        "target",
        metavar="MODULE:NAME",
        help="a function, or an object with @tool methods, for example weather:get_temperature",
    )
    parser.add_argument("--json", action="store_true", help="print it compact, as it is sent")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the tools array in OpenAI's form."""
    try:
        array = tools_array(options.target)
    except ConfigurationError as error:
        print(f"fasttool schema: {error}", file=sys.stderr)
        return WRONG_USE
    if options.json:
        print(array.decode())
    else:
        print(json.dumps(json_text.decode(array), indent=2, ensure_ascii=False))
    return 0


def tools_array(target: str) -> bytes:
    """Return the tools array of what ``target`` names, as JSON.

    Args:
        target: MODULE:NAME; the name may have dots.

    Raises:
        ConfigurationError: there is no such module or name, or it is not a tool.
    """
    module_name, separator, name = target.partition(":")
    if not module_name or not separator or not name:
        raise ConfigurationError(
            f"The target must be MODULE:NAME, for example weather:get_temperature, got {target!r}."
        )
    found: Any = _module(module_name)
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise ConfigurationError(f"Module {module_name} has no {name}.") from None
    specifications = [plan.specification for plan in find_tools(found)]
    for specification in specifications:
        if (problem := missing_description(specification)) is not None:
            print(f"fasttool schema: {problem}", file=sys.stderr)
    return b"[%b]" % b",".join(map(tool_bytes, specifications))


def _module(name: str) -> Any:
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    try:
        # What the module prints must not mix with the array.
        with contextlib.redirect_stdout(sys.stderr):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise ConfigurationError(f"There is no module named {error.name}.") from None
        raise ConfigurationError(f"Module {name} cannot be imported: {error}.") from None
    except (Exception, SystemExit) as error:
        said = " ".join(str(error).split()) or "it gives no reason"
        raise ConfigurationError(
            f"Module {name} cannot be imported: {type(error).__name__}: {said}."
        ) from None
