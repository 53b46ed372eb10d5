"""A streamed answer -> events: the decoder beside orjson alone.

Usage: python benchmarks/bench_stream.py [--quick] [--json] [--repeats 9]

text       one word per event, as OpenAI sends it, with id, model and role in each
call       a call of a tool whose arguments come one word per event
reasoning  the same as text, of a model that thinks before it answers

orjson.loads of the data of each event is what the ratios are to: it is given the bytes already cut,
and looks at nothing. "in reads" is the decoder with what a connection gives at a time, "event by event"
with one event at a time, as from a slow model.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import orjson
from timing import Block, block, duration, in_turns, machine, machine_lines, times, versions_of

import fasttool
from fasttool.models.openai_stream import StreamDecoder
from fasttool.models.stream import ResponseComplete

EVENTS = 500
READ = 16_384  # bytes


def _datum(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    chunk = {
        "id": "chatcmpl-Bx3mAPOvKJcLmDnL0y3BTEqZ8x1Tq",
        "object": "chat.completion.chunk",
        "created": 1764590400,
        "model": "gpt-4o-mini-2024-07-18",
        "service_tier": "default",
        "system_fingerprint": "fp_34a54ae93c",
        "choices": [choice],
        "usage": None,
    }
    return json.dumps(chunk, separators=(",", ":")).encode()


def _call(arguments: str, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, **more, "function": {"arguments": arguments}}]}


ANSWERS: dict[str, list[bytes]] = {
    "text": [
        _datum({"role": "assistant", "content": "", "refusal": None}),
        *(_datum({"content": " word"}) for _ in range(EVENTS)),
        _datum({}, "stop"),
    ],
    "call": [
        _datum(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "index": 0,
                        "id": "call_WzR2",
                        "type": "function",
                        "function": {"name": "write", "arguments": ""},
                    }
                ],
            }
        ),
        _datum(_call('{"text":"')),
        *(_datum(_call(" word")) for _ in range(EVENTS)),
        _datum(_call('"}')),
        _datum({}, "tool_calls"),
    ],
    "reasoning": [
        *(
            _datum({"role": "assistant", "content": None, "reasoning_content": " word"})
            for _ in range(EVENTS // 2)
        ),
        *(_datum({"role": "assistant", "content": " word"}) for _ in range(EVENTS // 2)),
        _datum({}, "stop"),
    ],
}


def _decode(pieces: list[bytes]) -> None:
    decoder = StreamDecoder()
    for piece in pieces:
        events = decoder.feed(piece)
    if not isinstance(events[-1], ResponseComplete):
        raise ValueError("the decoder gave no response")


def _load(data: list[bytes]) -> None:
    for datum in data:
        orjson.loads(datum)


def _blocks(data: list[bytes]) -> dict[str, Block]:
    events = [b"data: %b\n\n" % datum for datum in [*data, b"[DONE]"]]
    stream = b"".join(events)
    reads = [stream[place : place + READ] for place in range(0, len(stream), READ)]
    return {
        "orjson.loads": block(lambda: _load(data)),
        "in reads": block(lambda: _decode(reads)),
        "event by event": block(lambda: _decode(events)),
    }


def measure(repeats: int, seconds: float) -> list[dict[str, Any]]:
    """Return a row for each answer and way of reading it.

    Args:
        repeats: how often each has its turn.
        seconds: how long one turn takes, about.
    """
    rows: list[dict[str, Any]] = []
    for answer, data in ANSWERS.items():
        figures = in_turns(_blocks(data), repeats=repeats, seconds=seconds)
        low = figures["orjson.loads"]
        rows += [
            {
                "answer": answer,
                "reader": reader,
                "seconds_per_event": figure.median / len(data),
                "events_per_second": round(len(data) / figure.median),
                "ratio": round(figure.ratio_to(low), 2),
                "spread": round(figure.spread, 2),
            }
            for reader, figure in figures.items()
        ]
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=9, help="turns of each")
    parser.add_argument("--quick", action="store_true", help="a few seconds, rough figures")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    repeats, seconds = (3, 0.05) if options.quick else (options.repeats, 0.2)
    about = machine()
    versions = {"fasttool": fasttool.__version__} | versions_of(["orjson"])
    rows = measure(repeats, seconds)
    if options.json:
        print(json.dumps({"machine": about, "versions": versions, "rows": rows}, indent=1))
        return
    print("\n".join(machine_lines(about, versions)))
    print(f"{'answer':10} {'reader':15} {'per event':>10} {'events/s':>11} {'ratio':>7} {'spread':>7}")
    for row in rows:
        print(
            f"{row['answer']:10} {row['reader']:15} {duration(row['seconds_per_event']):>10} "
            f"{row['events_per_second']:>11,} {times(row['ratio']):>7} {row['spread']:>7.2f}"
        )


if __name__ == "__main__":
    main()
