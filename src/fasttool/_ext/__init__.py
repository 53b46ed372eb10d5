"""The core that may be compiled.

Each module here is one source for two forms: ``NAME.py`` is ordinary Python, and ``NAME.pxd``
beside it adds C types when ``setup.py`` compiles it.  ``FASTTOOL_PURE=1`` selects the
interpreted form of all of them at import.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType

PURE = os.environ.get("FASTTOOL_PURE", "0") not in ("", "0")
AUGMENTED = ("coerce",)
PLAIN = ("numerals", "problems")
"""Parts of the core that are not hot, and stay Python in both forms."""


def load_source(name: str, as_name: str) -> ModuleType:
    """Import ``NAME.py`` of this folder as ``as_name``, passing by a compiled sibling."""
    spec = importlib.util.spec_from_file_location(as_name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[as_name] = module
    spec.loader.exec_module(module)
    return module


def is_compiled(module: ModuleType) -> bool:
    """Say whether a module was loaded from its compiled form."""
    return module.__spec__ is not None and isinstance(module.__spec__.loader, ExtensionFileLoader)


def compiled_modules() -> dict[str, bool]:
    """Say for each core module whether its compiled form is in use."""
    return {name: is_compiled(importlib.import_module(f"{__name__}.{name}")) for name in AUGMENTED}


if PURE:
    for _name in AUGMENTED:
        load_source(_name, f"{__name__}.{_name}")
