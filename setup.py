"""Declares the optional compiled core; everything else is in pyproject.toml.

FASTTOOL_PURE=1         build without extensions (a pure-Python wheel)
FASTTOOL_REQUIRE_EXT=1  fail where an extension cannot be built, instead of leaving it out
FASTTOOL_TRACE=1        build with line tracing, to measure coverage of compiled modules
"""

import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

EXT_DIR = Path("src/fasttool/_ext")


def flag(name: str) -> bool:
    return os.environ.get(f"FASTTOOL_{name}", "0") not in ("", "0")


def obstacles() -> list[str]:
    """Why no extension can be built here; empty if nothing stands in the way."""
    found = []
    if sys.implementation.name != "cpython":
        found.append(f"{sys.implementation.name} is not CPython")
    try:
        import Cython.Compiler.Main  # noqa: F401
    except ImportError:
        found.append("Cython is not importable in the build environment")
    if os.name == "posix":
        command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
        compiler = next((word for word in shlex.split(command) if "=" not in word), "cc")
        if shutil.which(compiler) is None:
            found.append(f"there is no C compiler ({compiler} is not on PATH)")
        elif not Path(sysconfig.get_path("include"), "Python.h").exists():
            found.append(f"the C headers of Python are missing ({sysconfig.get_path('include')}/Python.h)")
    return found


def extensions() -> list[Extension]:
    """One extension per .py with a .pxd beside it."""
    trace = flag("TRACE")
    built = []
    for declarations in sorted(EXT_DIR.glob("*.pxd")):
        extension = Extension(
            f"fasttool._ext.{declarations.stem}",
            [declarations.with_suffix(".py").as_posix()],
            extra_compile_args=["/O2"] if sys.platform == "win32" else ["-O3", "-g" if trace else "-g0"],
            define_macros=[("CYTHON_TRACE_NOGIL", "1")] if trace else [],
            optional=not flag("REQUIRE_EXT"),
        )
        extension.cython_directives = {
            "language_level": "3",
            "annotation_typing": False,  # annotations are for type checkers; C types live in .pxd files
            "freethreading_compatible": True,
            "linetrace": trace,
        }
        extension.cython_c_in_temp = not trace  # Cython.Coverage looks for the C beside the source
        built.append(extension)
    return built


if flag("PURE") and flag("REQUIRE_EXT"):
    raise SystemExit("FASTTOOL_PURE and FASTTOOL_REQUIRE_EXT exclude each other.")
blocked = ["FASTTOOL_PURE is set"] if flag("PURE") else obstacles()
if blocked and flag("REQUIRE_EXT"):
    raise SystemExit(f"The compiled core cannot be built: {'; '.join(blocked)}.")
if blocked:
    print(f"fasttool: pure-Python build ({'; '.join(blocked)})", file=sys.stderr)
setup(ext_modules=[] if blocked else extensions())
