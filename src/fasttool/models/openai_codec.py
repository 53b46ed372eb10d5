"""The wire form of OpenAI Chat Completions, as OpenAI and every compatible server speak it; no I/O."""

from __future__ import annotations

from fasttool.models.openai_request import (
    PROFILE,
    check_parameters,
    encode_request,
    tool_bytes,
    tool_names,
)
from fasttool.models.openai_response import decode_response, with_original_names

__all__ = [
    "PROFILE",
    "check_parameters",
    "decode_response",
    "encode_request",
    "tool_bytes",
    "tool_names",
    "with_original_names",
]
