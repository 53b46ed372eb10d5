"""Argument text -> Python values: the core in both its forms, beside orjson alone and pydantic-core.

Usage: python benchmarks/bench_coerce.py [--quick] [--json] [--repeats 9]

flat    text, integer, number, boolean and enum
nested  a list of 50 dataclasses, three levels deep: 150 objects to make

orjson.loads makes dictionaries and checks nothing; it is what the ratios are to. pydantic-core,
where it is installed, gets the JSON text and makes the same values. All run in one process, in turns.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import floor
import orjson
from timing import block, duration, in_turns, machine, machine_lines, times, versions_of

import fasttool
from fasttool import _ext
from fasttool.coercion import binder
from fasttool.tools.docstrings import read_docstring
from fasttool.tools.signature import read_signature


@dataclass(slots=True)
class Size:
    """How large a product is."""

    width: float
    height: float
    unit: str


@dataclass(slots=True)
class Product:
    """What is sold."""

    sku: str
    price: float
    size: Size
    tags: list[str]


@dataclass(slots=True)
class Line:
    """A line of an order."""

    id: int
    quantity: int
    product: Product


def price_order(lines: list[Line]) -> float:
    """Return the price of an order."""
    return sum(line.quantity * line.product.price for line in lines)


NESTED_ARGUMENTS = json.dumps(
    {
        "lines": [
            {
                "id": number,
                "quantity": number % 7 + 1,
                "product": {
                    "sku": f"SKU-{number:05}",
                    "price": 1.5 * number + 0.25,
                    "size": {"width": 1.0 + number, "height": 2.5, "unit": "cm"},
                    "tags": ["new", "heavy", f"aisle {number}"],
                },
            }
            for number in range(50)
        ]
    }
)
CASES: dict[str, tuple[Callable[..., Any], str]] = {
    "flat": (floor.describe, floor.FLAT_ARGUMENTS),
    "nested": (price_order, NESTED_ARGUMENTS),
}


def interpreted_binder() -> ModuleType:
    """Return the module that makes binders, loaded once more on top of the interpreted core."""
    in_use = sys.modules["fasttool._ext.coerce"]
    spec = importlib.util.spec_from_file_location("interpreted_binder", binder.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        sys.modules["fasttool._ext.coerce"] = _ext.load_source("coerce", "interpreted_coerce")
        spec.loader.exec_module(module)
    finally:
        sys.modules["fasttool._ext.coerce"] = in_use
    return module


def bind_with(module: ModuleType, function: Callable[..., Any]) -> Callable[[str], Any]:
    """Return what binds the arguments of a function, made by one of the two modules."""
    name = function.__name__
    signature = read_signature(function, name, read_docstring(function.__doc__), bound=False)
    values: Callable[[str], Any] = module.argument_binder(name, signature.fields).values
    return values


def bind_with_pydantic_core(case: str) -> Callable[[str], Any] | None:
    """Return the same of pydantic-core; None where it is not installed."""
    if importlib.util.find_spec("pydantic_core") is None:
        return None
    from pydantic_core import SchemaValidator, core_schema

    text, integer, number = core_schema.str_schema(), core_schema.int_schema(), core_schema.float_schema()

    def dictionary(**fields: Any) -> Any:
        return core_schema.typed_dict_schema(
            {name: core_schema.typed_dict_field(schema) for name, schema in fields.items()}
        )

    def instance(kind: type, **fields: Any) -> Any:
        arguments = [core_schema.dataclass_field(name, schema) for name, schema in fields.items()]
        return core_schema.dataclass_schema(
            kind, core_schema.dataclass_args_schema(kind.__name__, arguments), list(fields), slots=True
        )

    if case == "flat":
        color = core_schema.enum_schema(floor.Color, list(floor.Color), sub_type="str")
        schema = dictionary(
            name=text, count=integer, ratio=number, active=core_schema.bool_schema(), color=color
        )
    else:
        size = instance(Size, width=number, height=number, unit=text)
        tags = core_schema.list_schema(text)
        product = instance(Product, sku=text, price=number, size=size, tags=tags)
        line = instance(Line, id=integer, quantity=integer, product=product)
        schema = dictionary(lines=core_schema.list_schema(line))
    validate: Callable[[str], Any] = SchemaValidator(schema).validate_json
    return validate


def measure(repeats: int, seconds: float) -> list[dict[str, Any]]:
    """Return a row for each case and contender."""
    form = "compiled" if _ext.is_compiled(sys.modules["fasttool._ext.coerce"]) else "interpreted"
    pure = interpreted_binder()
    rows = []
    for case, (function, text) in CASES.items():
        contenders: dict[str, Callable[[str], Any]] = {"orjson.loads": orjson.loads}
        if form == "compiled":
            contenders["fasttool, compiled"] = bind_with(binder, function)
        contenders["fasttool, interpreted"] = bind_with(pure, function)
        validate = bind_with_pydantic_core(case)
        if validate is not None:
            contenders["pydantic-core"] = validate
        expected = list(bind_with(binder, function)(text))
        for name, bind in contenders.items():
            found = bind(text)
            if name != "orjson.loads" and expected != list(
                found.values() if isinstance(found, dict) else found
            ):
                raise ValueError(f"{name} binds {case} to other values than fasttool does")
        blocks = {name: block(lambda bind=bind, text=text: bind(text)) for name, bind in contenders.items()}
        figures = in_turns(blocks, repeats=repeats, seconds=seconds)
        rows += [
            {
                "case": case,
                "contender": name,
                "microseconds": round(figure.median * 1e6, 3),
                "ratio": round(figure.ratio_to(figures["orjson.loads"]), 2),
                "spread": round(figure.spread, 2),
            }
            for name, figure in figures.items()
        ]
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="a few seconds, rough figures")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    about = machine()
    versions = {"fasttool": fasttool.__version__} | versions_of(["orjson", "pydantic-core"])
    repeats, seconds = (3, 0.03) if options.quick else (options.repeats, 0.2)
    rows = measure(repeats, seconds)
    if options.json:
        print(json.dumps({"machine": about, "versions": versions, "rows": rows}, indent=1))
        return
    print("\n".join(machine_lines(about, versions)))
    print(f"medians of {repeats} repeats in turns; ratios to orjson.loads\n")
    print(f"{'case':8} {'contender':24} {'per call':>10} {'ratio':>8} {'spread':>8}")
    for row in rows:
        shown = f"{duration(row['microseconds'] / 1e6):>10} {times(row['ratio']):>8} {row['spread']:8.2f}"
        print(f"{row['case']:8} {row['contender']:24} {shown}")
    if len({row["contender"] for row in rows} & {"fasttool, compiled", "pydantic-core"}) < 2:
        print("What is not in the table, the compiled core or pydantic-core, is not there to be measured.")


if __name__ == "__main__":
    main()
