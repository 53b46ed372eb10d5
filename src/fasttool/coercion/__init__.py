"""Argument text to Python values, and Python values to the text of a result."""
