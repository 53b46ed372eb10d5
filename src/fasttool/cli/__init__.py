"""The fasttool command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from fasttool.cli import demo, info, schema
from fasttool.errors import FastToolError

COMMANDS = (info, schema, demo)

FAILED = 1
INTERRUPTED = 130  # what shells give for a program that SIGINT ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code.

    Args:
        arguments: what comes after ``fasttool``; None for the ones of this process.
    """
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except FastToolError as error:
        print(f"fasttool: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has gone; what is still buffered must not fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fasttool", description="Python functions as tools for language models."
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(commands)
    return parser
