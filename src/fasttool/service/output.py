"""The answer of a model -> a value of the type that a method returns."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from fasttool import json_text
from fasttool.coercion.binder import argument_binder
from fasttool.coercion.repairs import repaired
from fasttool.errors import OutputFormatError, ToolArgumentsError
from fasttool.messages import ResponseFormat
from fasttool.schema.forms import ABSENT, FieldForm, ObjectForm, OptionalForm
from fasttool.schema.json_schema import parameters_schema
from fasttool.schema.python_types import TypeReader

_VALUE = "value"


class OutputReader:
    """Reads answers as values of one type.

    Args:
        kind: the type; resolved.
        name: a name for it, for the provider and for messages.
        namespace: further names that annotations of the type may use.

    Attributes:
        response_format: what the model is told of the type.

    Raises:
        UnsupportedTypeError: the type has no form.
    """

    def __init__(self, kind: Any, name: str, namespace: Mapping[str, Any] | None = None) -> None:
        form = TypeReader(namespace).read(kind)
        required = not isinstance(form, OptionalForm)
        field = FieldForm(_VALUE, _VALUE, form, required, ABSENT if required else None)
        self._binder = argument_binder(name, [field])
        schema = parameters_schema([field]) or {}
        # Providers want an object: a type that is one is asked for itself, any other one as a field.
        self._is_object = isinstance(form, ObjectForm)
        if self._is_object:
            definitions = schema.get("$defs")
            schema = {**schema["properties"][_VALUE], **({"$defs": definitions} if definitions else {})}
        self.response_format = ResponseFormat(name, schema)

    @property
    def instruction(self) -> str:
        """What is added to the user's message for a model that has no response format."""
        schema = json_text.encode(dict(self.response_format.schema)).decode()
        return f"\n\nAnswer with JSON that fits this schema, and with nothing else:\n{schema}"

    def read(self, text: str | None) -> Any:
        """Return the value of an answer.

        Raises:
            OutputFormatError: it is none.
        """
        given = (text or "").strip()
        try:
            return self._binder.bind({_VALUE: self._json(given)})[_VALUE]
        except ToolArgumentsError as error:
            reasons = "; ".join(str(problem).replace(f'"{_VALUE}" ', "", 1) for problem in error.problems)
            raise OutputFormatError(
                f"The answer is not what was asked for: {reasons}.", text or ""
            ) from error

    def _json(self, text: str) -> Any:
        """Return the JSON value that a text is; the text where it is none: it may be that of an enum."""
        if not text:
            return None
        try:
            found = repaired(text)
        except json_text.JsonTextError:
            return text
        if not self._is_object and isinstance(found, dict) and found.keys() == {_VALUE}:
            return found[_VALUE]
        return found


def fits(value: Any, kind: Any) -> bool:
    """Say whether a Python value is one of a type, the arguments of the type included."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any or kind is object:
        return True
    if origin is Annotated:
        return fits(value, arguments[0])
    if origin is Union or origin is types.UnionType:
        return any(fits(value, member) for member in arguments)
    if origin is Literal:
        return any(value == choice and type(value) is type(choice) for choice in arguments)
    if kind is None or kind is type(None):
        return value is None
    if typing.is_typeddict(kind):
        return isinstance(value, dict)
    if origin is None:
        if kind in (int, float) and isinstance(value, bool):
            return False
        return isinstance(kind, type) and isinstance(value, kind)
    if not isinstance(origin, type) or not isinstance(value, origin):
        return False
    if isinstance(value, Mapping) and len(arguments) == 2:
        return all(fits(key, arguments[0]) and fits(entry, arguments[1]) for key, entry in value.items())
    if isinstance(value, tuple) and arguments and arguments[-1] is not Ellipsis:
        return len(value) == len(arguments) and all(map(fits, value, arguments))
    if isinstance(value, (list, set, frozenset, tuple)) and arguments:
        return all(fits(element, arguments[0]) for element in value)
    return True
