"""Where the language-neutral vectors are: next to the repository, or the copies in it."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = REPOSITORY.parent / "shared"


def vector_file(name: str) -> Path:
    """Return the path of a vector file such as ``mcp/mcp_schema.json``."""
    found = SHARED / "vectors" / name
    return found if found.is_file() else REPOSITORY / "tests" / "vectors" / name


def data_file(name: str) -> Path | None:
    """Return the path of a data file that is not in the repository, None where it is not at hand."""
    found = SHARED / "data" / name
    return found if found.is_file() else None
