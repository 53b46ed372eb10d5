"""Tools that come with a JSON Schema instead of a signature."""

from __future__ import annotations

from fasttool._ext.coerce import ArgumentBinder
from fasttool.coercion.binder import argument_binder
from fasttool.schema.foreign import schema_form
from fasttool.specification import ToolSpecification


def bind_schema(specification: ToolSpecification) -> ArgumentBinder:
    """Return the binder of a tool that is known by its specification alone.

    Its ``bind(arguments)`` takes what a model sent, checks and coerces it against the schema by the
    rules for Python tools, and returns the values by name; what the schema allows beyond its
    properties is kept as it came.

    Args:
        specification: its parameters are in the normal form of ``fasttool.schema.normalise``.
    """
    form = schema_form(specification.parameters)
    return argument_binder(specification.name, form.fields, extra=form.extra)
