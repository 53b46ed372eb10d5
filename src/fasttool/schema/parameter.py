"""``P``: what an author says of a parameter beside its type."""

from __future__ import annotations

from typing import Any

from fasttool.errors import ConfigurationError
from fasttool.schema.forms import ABSENT


class P:
    """Describes a parameter; rides in ``Annotated[type, P("...")]``.

    Args:
        description: what the model is told; blank for nothing.
        name: the name that the model sees, where it should differ from Python's.
        required: False makes the parameter one that may be absent, None then.
        default: used where the model gives nothing; makes the parameter one that may be absent.
        values: an enum is shown by its values instead of the names of its members.

    Raises:
        ConfigurationError: a value has the wrong type.
    """

    __slots__ = ("default", "description", "name", "required", "values")

    def __init__(
        self,
        description: str = "",
        *,
        name: str | None = None,
        required: bool | None = None,
        default: Any = ABSENT,
        values: bool = False,
    ) -> None:
        if not isinstance(description, str):
            raise ConfigurationError(f"The description in P(...) must be text, got {description!r}.")
        if name is not None and not isinstance(name, str):
            raise ConfigurationError(f"The name in P(...) must be text, got {name!r}.")
        if required is not None and not isinstance(required, bool):
            raise ConfigurationError(f"required in P(...) must be True or False, got {required!r}.")
        self.description = description
        self.name = name if name and name.strip() else None
        self.required = required
        self.default = default
        self.values = values

    @property
    def has_default(self) -> bool:
        """Whether a default was given."""
        return self.default is not ABSENT

    def __repr__(self) -> str:
        return f"P({self.description!r})"
