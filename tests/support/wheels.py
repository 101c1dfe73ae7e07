"""Wheels built by pip."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest


def build_wheel(source: Path, folder: Path, *options: str, env: Mapping[str, str] | None = None) -> Path:
    """Build the wheel of a source tree in a folder; skip the test if the build tools cannot be downloaded."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    done = subprocess.run([*command, folder, source, *options], capture_output=True, text=True, check=False, env=env)
    if done.returncode and ("No matching distribution" in done.stderr or "Could not find a version" in done.stderr):
        pytest.skip(f"building {source.name} needs the build tools, which cannot be fetched here")
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel
