"""A tool's JSON Schema in the dialect of a provider.

Each provider takes another part of JSON Schema, and refuses the whole request for one keyword that it
does not know. Lowering rewrites what the dialect lacks; what cannot be written moves into the
description, where the model still reads it. Whatever a lowered schema allows, the tool's binder takes.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from fasttool.errors import ConfigurationError
from fasttool.schema.normalise import normalise
from fasttool.schema.profiles import strict as strict_mode
from fasttool.schema.profiles.gemini import gemini_schema
from fasttool.schema.profiles.lowered import Lowered
from fasttool.schema.profiles.plain import ANTHROPIC, OPENAI, notes_on_names, plain_schema

__all__ = ["Lowered", "Profile", "lower"]


class Profile(StrEnum):
    """The dialects.

    JSON_SCHEMA: as it is (also for Gemini's ``parametersJsonSchema``).
    OPENAI: function calling of OpenAI and of servers that are compatible with it.
    OPENAI_STRICT: the same with ``strict``.
    ANTHROPIC: ``input_schema`` of a tool.
    ANTHROPIC_STRICT: the same with ``strict``.
    GEMINI: ``parameters`` of a function declaration.
    """

    JSON_SCHEMA = "json_schema"
    OPENAI = "openai"
    OPENAI_STRICT = "openai-strict"
    ANTHROPIC = "anthropic"
    ANTHROPIC_STRICT = "anthropic-strict"
    GEMINI = "gemini"


_STRICT = {Profile.OPENAI: Profile.OPENAI_STRICT, Profile.ANTHROPIC: Profile.ANTHROPIC_STRICT}
_PLAIN = {strict: plain for plain, strict in _STRICT.items()}


def lower(schema: Mapping[str, Any] | None, profile: str | Profile, *, strict: bool | None = None) -> Lowered:
    """Return a schema in a provider's dialect, with what was changed.

    The same schema always gives the same result, and lowering that once more to the same form changes
    nothing. A schema that is not in the normal form of ``normalise`` is brought to it first.

    Args:
        schema: JSON Schema of a tool's arguments; None for a tool without any. It is not changed.
        profile: the dialect.
        strict: take the strict or the plain form of the dialect; None takes what ``profile`` names.
            Where strict is not possible, the plain form comes back, ``strict`` is False and a note says why.

    Raises:
        ConfigurationError: there is no such profile.

    >>> schema = {"type": "object", "properties": {"days": {"type": "integer", "default": 3}}}
    >>> lower(schema, "openai", strict=True).schema["properties"]["days"]
    {'type': ['integer', 'null'], 'description': 'Default: 3.'}
    """
    if profile not in list(Profile):
        raise ConfigurationError(f"There is no profile {profile!r}; there are {', '.join(Profile)}.")
    profile = Profile(profile)
    if strict is not None:
        profile = (_STRICT if strict else _PLAIN).get(profile, profile)
    if schema is None:
        schema = {"type": "object", "properties": {}}
    if profile is Profile.JSON_SCHEMA:
        return Lowered(copy.deepcopy(dict(schema)))
    normal, warnings = normalise(dict(schema))
    if profile is Profile.GEMINI:
        result = gemini_schema(normal)
    else:
        plain = _PLAIN.get(profile, profile)
        plain_rules = OPENAI if plain is Profile.OPENAI else ANTHROPIC
        result = Lowered({})
        if profile is not plain:
            rules = strict_mode.OPENAI if plain is Profile.OPENAI else strict_mode.ANTHROPIC
            result = strict_mode.strict_schema(normal, rules)
        if not result.strict:
            # Why it cannot be strict is worth knowing; what would have been changed is not.
            why = tuple(note for note in result.notes if "strict is not possible" in note)
            found = plain_schema(normal, plain_rules)
            result = found._replace(notes=(*why, *found.notes))
        result = result._replace(notes=(*result.notes, *notes_on_names(result.schema, plain_rules)))
    repaired = tuple(f"arguments: the schema was repaired ({warning})." for warning in warnings[:100])
    return result._replace(notes=(*repaired, *result.notes))
