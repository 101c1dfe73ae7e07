"""Integrations with their framework and without it."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

pytestmark = pytest.mark.core

SPACE = ROOT / "integrations" / "llama_index" / "llama_index"
LLAMA_INDEX = sorted(path.parent.name for path in SPACE.glob("*/monograph"))
PACKAGES = {
    **{f"llama_index.{kind}.monograph": ("llama_index.core", "llama-index") for kind in LLAMA_INDEX},
    "langchain_monograph": ("langchain_core", "langchain"),
    "monograph_mcp": ("mcp", "mcp"),
    "monograph_tools": ("pydantic", "langchain"),
}
HIDDEN = """
import sys
for name in ("llama_index.core", "langchain_core", "mcp", "pydantic"):
    sys.modules[name] = None  # as if it were not installed
from monograph.errors import MissingExtra
for name in sys.argv[1:]:
    try:
        __import__(name)
    except MissingExtra as error:
        print(name, isinstance(error.__cause__, ImportError), error)
"""


def is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def test_error_without_the_framework_names_the_extra() -> None:
    # Modules of packages too: Python imports the package first.
    names = [*PACKAGES, "langchain_monograph.retrievers", "llama_index.vector_stores.monograph.store"]
    done = subprocess.run([sys.executable, "-c", HIDDEN, *names], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert len(lines) == len(names), done.stderr
    for name, line in zip(names, lines, strict=True):
        package = name.removesuffix(".retrievers").removesuffix(".store")
        assert line.startswith(f"{name} True {package} needs ")
        assert f'"monograph[{PACKAGES[package][1]}]"' in line


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_of_an_integration_have_docstrings(package: str) -> None:
    framework, _ = PACKAGES[package]
    if not is_there(framework):
        with pytest.raises(Exception, match=r"monograph\["):
            importlib.import_module(package)
        return
    module = importlib.import_module(package)
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert getattr(module, name).__doc__, name


@pytest.mark.parametrize(("command", "missing"), [("mcp", "mcp"), ("serve", "fastapi"), ("serve", "uvicorn")])
def test_command_without_its_extra_names_the_extra(tmp_path: Path, command: str, missing: str) -> None:
    code = """
import sys
sys.modules[sys.argv[2]] = None
from monograph.app.cli import app
app([sys.argv[1], sys.argv[3]], standalone_mode=False)
"""
    path = str(tmp_path / "x.mono")
    done = subprocess.run(
        [sys.executable, "-c", code, command, missing, path], capture_output=True, text=True, check=False
    )
    assert f'pip install "monograph[{command}]"' in done.stderr
    assert "Traceback" not in done.stderr
