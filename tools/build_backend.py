"""Build backend: scikit-build-core, with the compiler of the package ziglang if this machine has none.

See ``[build-system]`` in pyproject.toml. PEP 517 and PEP 660 define the names of the functions.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scikit_build_core import build as scikit
from scikit_build_core.build import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

CACHE = Path(__file__).resolve().parents[1] / "build" / "zig"
NO_COMPILER = "Monograph needs a C++ compiler, and this machine has none: install g++ or clang, or pip install ziglang"
Config = Mapping[str, Any] | None


def has_compiler() -> bool:
    """Return whether CMake will find a C++ compiler: one that CXX names, or one that runs."""
    if os.environ.get("CXX") or sys.platform == "win32":
        return True
    return any(_runs(name) for name in ("c++", "g++", "clang++"))


def _runs(compiler: str) -> bool:
    try:
        return subprocess.run([compiler, "--version"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def use_ziglang() -> None:
    """Make CMake use ziglang if this machine has no compiler. Raises SystemExit if ziglang is missing too."""
    if has_compiler():
        return
    if importlib.util.find_spec("ziglang") is None:
        raise SystemExit(NO_COMPILER)
    zig = f"{sys.executable} -m ziglang"
    archive = f"-DCMAKE_CXX_ARCHIVE_CREATE='{zig} ar qcs <TARGET> <OBJECTS>' -DCMAKE_CXX_ARCHIVE_FINISH="
    # -mcpu=baseline: any processor of this architecture can run the result, as with other compilers.
    os.environ |= {
        "CXX": f"{zig} c++",
        "CXXFLAGS": f"{os.environ.get('CXXFLAGS', '')} -mcpu=baseline",
        "CMAKE_ARGS": f"{os.environ.get('CMAKE_ARGS', '')} {archive}",
        "ZIG_GLOBAL_CACHE_DIR": str(CACHE),
        "ZIG_LOCAL_CACHE_DIR": str(CACHE),
    }


def get_requires_for_build_wheel(config_settings: Config = None) -> list[str]:
    """Return the packages that a build needs: cmake, ninja, and ziglang if there is no compiler."""
    return scikit.get_requires_for_build_wheel(config_settings) + ([] if has_compiler() else ["ziglang"])


def get_requires_for_build_editable(config_settings: Config = None) -> list[str]:
    """Return the packages that an editable install needs."""
    return scikit.get_requires_for_build_editable(config_settings) + ([] if has_compiler() else ["ziglang"])


def build_wheel(wheel_directory: str, config_settings: Config = None, metadata_directory: str | None = None) -> str:
    """Build a wheel; return its name."""
    use_ziglang()
    return scikit.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory: str, config_settings: Config = None, metadata_directory: str | None = None) -> str:
    """Build an editable wheel; return its name."""
    use_ziglang()
    return scikit.build_editable(wheel_directory, config_settings, metadata_directory)
