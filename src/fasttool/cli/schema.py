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
from fasttool.schema.profiles import Profile, lower
from fasttool.schema.tool_names import NAME_RULES, NameRules, ToolNames
from fasttool.specification import ToolSpecification
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
    parser.add_argument(
        "--profile",
        choices=[profile.value for profile in Profile],
        default=Profile.OPENAI.value,
        help="whose dialect of JSON Schema; what it changes is told on standard error",
    )
    parser.add_argument("--json", action="store_true", help="print it compact, as it is sent")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the tools array in a provider's form."""
    try:
        array = tools_array(options.target, options.profile)
    except ConfigurationError as error:
        print(f"fasttool schema: {error}", file=sys.stderr)
        return WRONG_USE
    if options.json:
        print(array.decode())
    else:
        print(json.dumps(json_text.decode(array), indent=2, ensure_ascii=False))
    return 0


def tools_array(target: str, profile: str = Profile.OPENAI) -> bytes:
    """Return the tools array of what ``target`` names, as JSON; notes go to standard error.

    Args:
        target: MODULE:NAME; the name may have dots.
        profile: a Profile.

    Raises:
        ConfigurationError: there is no such module, name or profile, or it is not a tool.
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
    names = ToolNames([specification.name for specification in specifications], _names_of(profile))
    return b"[%b]" % b",".join(_entry(specification, profile, names) for specification in specifications)


def _names_of(profile: str) -> NameRules:
    family = profile.partition("-")[0]
    return NAME_RULES[family if family in NAME_RULES else Profile.OPENAI]


def _entry(specification: ToolSpecification, profile: str, names: ToolNames) -> bytes:
    """One tool in the provider's form."""
    if profile == Profile.OPENAI_STRICT:
        specification = specification.replace(strict=True)
    strict = specification.strict if profile.startswith(Profile.OPENAI) else None
    lowered = lower(specification.parameters, profile, strict=strict)
    for note in lowered.notes:
        print(f"fasttool schema: {specification.name}: {note}", file=sys.stderr)
    if profile.startswith(Profile.OPENAI):
        return tool_bytes(specification)
    plain = profile == Profile.JSON_SCHEMA  # no provider's: the name stays
    form: dict[str, Any] = {"name": specification.name if plain else names.wire(specification.name)}
    if specification.description is not None:
        form["description"] = specification.description
    if lowered.strict:
        form["strict"] = True
    form["input_schema" if profile.startswith(Profile.ANTHROPIC) else "parameters"] = lowered.schema
    return json_text.encode(form)


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
