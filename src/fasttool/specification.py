"""What a model is told of a tool, and how its results and its visibility behave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from fasttool import json_text
from fasttool.errors import ConfigurationError


class ReturnBehavior(StrEnum):
    """What happens with the result of a tool (reference: core, section 6).

    TO_LLM: the model sees it and goes on.
    IMMEDIATE: it goes to the caller without another model call, if every tool of the round is
        IMMEDIATE or IMMEDIATE_IF_LAST and none failed.
    IMMEDIATE_IF_LAST: the same, if this tool is the last call of the round and none failed.
    """

    TO_LLM = "to_llm"
    IMMEDIATE = "immediate"
    IMMEDIATE_IF_LAST = "immediate_if_last"


class SearchBehavior(StrEnum):
    """Whether a tool is always shown to the model, or only once a tool search has found it."""

    SEARCHABLE = "searchable"
    ALWAYS_VISIBLE = "always_visible"


class ToolSpecification:
    """Name, description and parameters of a tool; immutable, equal by value.

    The schema is kept as JSON text from the moment of construction, so nothing that a caller does
    to a dictionary reaches a request, and providers can splice the bytes.

    Args:
        name: what the model calls it.
        description: what it is for; None where there is none.
        parameters: JSON Schema of the arguments, an object schema; None for a tool without any.
        metadata: JSON values for the application; never sent to a model.
        strict: ask the provider to hold the model to the schema; None leaves it to the model's default.

    Raises:
        ConfigurationError: the name is empty, or parameters or metadata have no JSON form.
    """

    __slots__ = ("__weakref__", "_metadata_json", "_wire", "description", "name", "parameters_json", "strict")

    name: str
    description: str | None
    strict: bool | None
    _metadata_json: bytes | None
    _wire: dict[str, bytes]
    parameters_json: bytes | None
    """The schema as compact JSON."""

    def __init__(
        self,
        name: str,
        description: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
        strict: bool | None = None,
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise ConfigurationError(f"A tool needs a name that is not empty, got {name!r}.")
        if description is not None and not isinstance(description, str):
            raise ConfigurationError(f"The description of tool {name} must be text, got {description!r}.")
        if strict is not None and not isinstance(strict, bool):
            raise ConfigurationError(f"strict of tool {name} must be True, False or None, got {strict!r}.")
        put = object.__setattr__
        put(self, "name", name)
        put(self, "description", description)
        put(self, "strict", strict)
        put(self, "parameters_json", _json_object(parameters, f"The parameters of tool {name}"))
        put(self, "_metadata_json", _json_object(metadata or None, f"The metadata of tool {name}"))
        put(self, "_wire", {})

    @property
    def parameters(self) -> dict[str, Any] | None:
        """The schema, a new dictionary at each access; None for a tool without parameters."""
        return None if self.parameters_json is None else json_text.decode(self.parameters_json)

    @property
    def metadata(self) -> dict[str, Any]:
        """The application's own values, a new dictionary at each access."""
        return {} if self._metadata_json is None else json_text.decode(self._metadata_json)

    @property
    def wire(self) -> dict[str, bytes]:
        """Bytes that codecs have made of this specification, by profile; a codec's own cache."""
        return self._wire

    def replace(self, **changes: Any) -> ToolSpecification:
        """Return a copy with some of the constructor's arguments changed."""
        given = {
            name: getattr(self, name) for name in ("name", "description", "parameters", "metadata", "strict")
        }
        unknown = sorted(changes.keys() - given.keys())
        if unknown:
            raise ConfigurationError(
                f"A tool specification has no {', '.join(unknown)}; it has {', '.join(given)}."
            )
        return ToolSpecification(**(given | changes))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: name, description, parameters, metadata, strict; absent ones left out."""
        form: dict[str, Any] = {"name": self.name}
        if self.description is not None:
            form["description"] = self.description
        if self.parameters_json is not None:
            form["parameters"] = self.parameters
        if self._metadata_json is not None:
            form["metadata"] = self.metadata
        if self.strict is not None:
            form["strict"] = self.strict
        return form

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> ToolSpecification:
        """Return the specification of a JSON form.

        Raises:
            ConfigurationError: a key is unknown, or a value has the wrong type.
        """
        known = ("name", "description", "parameters", "metadata", "strict")
        unknown = [str(key) for key in form if key not in known]
        if unknown or "name" not in form:
            raise ConfigurationError(
                f"A tool specification has the keys {', '.join(known)}, and needs name; "
                f"got {', '.join(map(str, form)) or 'none'}."
            )
        return cls(**form)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"ToolSpecification is immutable; use replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("ToolSpecification is immutable")

    def _key(self) -> tuple[Any, ...]:
        return self.name, self.description, self.strict, self.parameters, self.metadata

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolSpecification):
            return NotImplemented
        return self is other or self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.name, self.description))

    def __repr__(self) -> str:
        return f"ToolSpecification({self.name!r}, {self.description!r}, {self.parameters!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __copy__(self) -> ToolSpecification:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ToolSpecification:
        return self


class ToolArray(tuple[ToolSpecification, ...]):
    """Specifications in the order in which a model sees them, with the bytes that codecs make of all of them.

    Attributes:
        wire: bytes of the whole array, by profile; a codec's own cache.
        names: what the names become on the wire, by profile; a codec's own cache.
    """

    wire: dict[str, bytes]
    names: dict[str, Any]

    def __init__(self, specifications: Iterable[ToolSpecification] = ()) -> None:
        self.wire = {}
        self.names = {}


def _json_object(value: Mapping[str, Any] | None, what: str) -> bytes | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{what} must be a mapping, got {type(value).__name__}.")
    try:
        return json_text.encode(dict(value))
    except json_text.JsonTextError as error:
        raise ConfigurationError(f"{what} cannot be written as JSON: {error}.") from None
