"""How many tokens a message takes, roughly: without a tokenizer, and the same for every model."""

from __future__ import annotations

from fasttool import json_text
from fasttool.messages import (
    AiMessage,
    Content,
    Message,
    ProviderContent,
    TextContent,
    ToolResultMessage,
    UserMessage,
)

BYTES_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 4
TOKENS_PER_MEDIA = 1000


def estimate_tokens(message: Message) -> int:
    """Return about how many tokens a message takes.

    It is one token per four bytes of UTF-8 (text, names, ids, arguments, opaque provider parts), 4
    for the message, 4 for each call, and 1,000 for each image, recording or file.  Providers differ; give
    TokenWindow the tokenizer of your model where it has to be exact, or leave room.

    >>> estimate_tokens(UserMessage("What is the weather in Shanghai?"))
    12
    """
    size = tokens = 0
    if isinstance(message, UserMessage):
        size = _bytes(message.name)
    else:
        size = _bytes(message.text)
        if isinstance(message, AiMessage):
            for call in message.tool_calls:
                tokens += TOKENS_PER_MESSAGE
                size += _bytes(call.id) + _bytes(call.name) + _bytes(call.arguments)
        elif isinstance(message, ToolResultMessage):
            if message.contents:  # they are sent in the place of the text
                size = 0
            size += _bytes(message.id) + _bytes(message.tool_name)
    if isinstance(message, (UserMessage, AiMessage, ToolResultMessage)):
        for content in message.contents:
            if isinstance(content, (TextContent, ProviderContent)):
                size += _content_bytes(content)
            else:
                tokens += TOKENS_PER_MEDIA
    return tokens + TOKENS_PER_MESSAGE + -(-size // BYTES_PER_TOKEN)


def _content_bytes(content: Content) -> int:
    if isinstance(content, TextContent):
        return _bytes(content.text)
    if isinstance(content, ProviderContent):
        try:
            return len(json_text.encode(content.data))
        except json_text.JsonTextError:  # it cannot be sent either; the codec says so
            return 0
    return 0


def _bytes(text: str | None) -> int:
    if not text:
        return 0
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
