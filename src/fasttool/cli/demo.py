"""``fasttool demo``: a model calls functions, on this machine or at an endpoint of yours."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fasttool.cli import demo_functions, demo_questions
from fasttool.cli.demo_display import LiveDisplay, PlainDisplay, SilentDisplay
from fasttool.cli.demo_questions import MAX_QUESTIONS, TimedModel
from fasttool.cli.demo_totals import Totals
from fasttool.models import ChatModel, LocalChatModel, OpenAIChatModel

DESCRIPTION = """\
Part 1 puts questions of the Berkeley Function Calling Leaderboard to a model, their functions offered
as tools, and checks its calls against the dataset's answers. Part 2 lets it call real Python functions.
Without an endpoint, a very small model (135 million parameters) runs on this machine, offline.
"""

OTHER_ENDPOINT = "fasttool demo --base-url http://127.0.0.1:11434/v1 --model NAME"


def add_to(commands: Any) -> None:
    """Add the command to a parser's commands."""
    parser = commands.add_parser(
        "demo", help="let a model call functions, here and now", description=DESCRIPTION
    )
    parser.add_argument(
        "--questions", type=_question_count, default=24, metavar="N", help="questions in part 1 (default 24)"
    )
    parser.add_argument("--base-url", help="an OpenAI-compatible endpoint, without /chat/completions")
    parser.add_argument("--model", help="name of the model at the endpoint")
    parser.add_argument("--api-key", help="key of the endpoint (default: the variable OPENAI_API_KEY)")
    parser.add_argument("--json", action="store_true", help="print one JSON document at the end")
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> int:
    """Run the demo; what the model gets wrong is not a failure of the command."""
    if options.model is None and (options.base_url or options.api_key):
        options.parser.error("--base-url and --api-key need --model, the name of the model there")
    display: LiveDisplay | PlainDisplay | SilentDisplay
    if options.json:
        display = SilentDisplay()
    elif sys.stdout.isatty():
        display = LiveDisplay()
    else:
        display = PlainDisplay()
    with _ended_by_sigterm(), _model(options) as (model, name):
        totals = Totals()
        answered = []
        with display:
            display.start(name, options.questions)
            timed = TimedModel(model)
            for question in demo_questions.choose_questions(options.questions):
                display.asking(question.text)
                result = demo_questions.ask(question, timed)
                totals.add(result)
                answered.append(result)
                display.answered(result, totals)
            display.show_totals(totals)
            own = []
            with demo_functions.own_questions() as questions:
                display.start_functions(len(questions))
                for own_question in questions:
                    display.asking(own_question.text)
                    own_result = demo_functions.ask(own_question, model)
                    own.append(own_result)
                    display.answered_function(own_result)
            display.end(OTHER_ENDPOINT)
    if options.json:
        document = {
            "model": name,
            "questions": [result.to_dict() for result in answered],
            "totals": totals.to_dict(),
            "functions": [result.to_dict() for result in own],
            "other_endpoint": OTHER_ENDPOINT,
        }
        print(json.dumps(document, ensure_ascii=False, default=str))
    return 0


def _question_count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= number <= MAX_QUESTIONS:
        raise argparse.ArgumentTypeError(f"must be 1 to {MAX_QUESTIONS}, got {text!r}")
    return number


@contextmanager
def _model(options: argparse.Namespace) -> Iterator[tuple[ChatModel, str]]:
    """Give the model and what to call it; a server of ours ends with the context."""
    if options.model is None:
        with LocalChatModel() as local:
            local.start()
            yield local, "SmolLM2-135M-Instruct on this machine"
    else:
        with OpenAIChatModel(options.model, base_url=options.base_url, api_key=options.api_key) as remote:
            yield remote, f"{options.model} at {remote.base_url}"


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM unwind the stack, so that the server ends and the terminal gets its cursor back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
