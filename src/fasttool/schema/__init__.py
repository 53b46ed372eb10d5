"""Schemas: Python types to JSON Schema, and foreign JSON Schema to a normal form."""

from fasttool.schema.normalise import normalise

__all__ = ["normalise"]
