"""Tools that come with a JSON Schema instead of a signature."""

from __future__ import annotations

from typing import Any

from fasttool.coercion.arguments import read_arguments
from fasttool.coercion.binder import argument_binder
from fasttool.errors import ArgumentProblem, ProblemKind, ToolArgumentsError
from fasttool.schema.foreign import schema_form
from fasttool.schema.forms import AnyForm, FieldForm, Form, ObjectForm
from fasttool.specification import ToolSpecification


class SchemaBinder:
    """Checks and converts the arguments of a tool that is known by its schema.

    Args:
        name: name of the tool, for messages.
        form: what its arguments may be: an object, or a union of objects.
    """

    __slots__ = ("_binder", "_checks", "_name", "_whole")

    def __init__(self, name: str, form: Form) -> None:
        self._name = name
        self._whole = not isinstance(form, ObjectForm)
        self._checks = form.checks
        if isinstance(form, ObjectForm):
            closed = form.extra is None
            self._binder = argument_binder(name, form.fields, extra=form.extra, closed=closed)
        else:
            self._binder = argument_binder(name, [FieldForm("", "", form)])

    def bind(self, arguments: Any) -> dict[str, Any]:
        """Return the arguments to send, as plain JSON values.

        The properties of the schema come first, in its order, then further ones as they came.

        Args:
            arguments: JSON text, UTF-8 bytes, a mapping, or None for nothing.

        Raises:
            ToolArgumentsError: the text is not a JSON object, a value is missing, or one does not fit.
        """
        if self._whole:
            return self._bind_whole(arguments)
        bound = self._binder.bind(arguments)
        for _, check in self._checks:
            reason = check(bound)
            if reason is not None:
                problem = ArgumentProblem(ProblemKind.OUT_OF_RANGE, "", f"the arguments {reason}")
                raise ToolArgumentsError(self._name, [problem])
        return bound

    def _bind_whole(self, arguments: Any) -> dict[str, Any]:
        """Bind the arguments as one value, which is what tells alternatives apart."""
        given = read_arguments(self._name, arguments)
        try:
            bound: dict[str, Any] = self._binder.bind({"": given})[""]
        except ToolArgumentsError as error:
            raise ToolArgumentsError(self._name, [_of_all(problem) for problem in error.problems]) from None
        return bound


def _of_all(problem: ArgumentProblem) -> ArgumentProblem:
    if problem.path:
        return problem
    return ArgumentProblem(problem.kind, "", f"the arguments {problem.reason}")


def bind_schema(specification: ToolSpecification, *, forbid_extra: bool = False) -> SchemaBinder:
    """Return the binder of a tool that is known by its specification alone.

    Its ``bind(arguments)`` takes what a model sent, checks and coerces it against the schema by the
    rules for Python tools, and returns the dictionary to send.  Every value that the schema allows is
    taken; null for a property that is neither required nor nullable is left out, as models send it for
    want of a value; a default of the schema is left to the server.

    Args:
        specification: its parameters are in the normal form of ``fasttool.schema.normalise``.
        forbid_extra: names that the schema does not mention are refused, also where it does not say
            ``additionalProperties: false``.
    """
    form = schema_form(specification.parameters)
    if forbid_extra and isinstance(form, ObjectForm) and isinstance(form.extra, AnyForm):
        parameters = specification.parameters or {}
        if "patternProperties" not in parameters:
            form.extra = None
    return SchemaBinder(specification.name, form)
