"""What importing an integration loads beyond the framework's own base classes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

BEYOND = """
import sys
exec(sys.argv[1])
before = set(sys.modules)
exec(sys.argv[2])
print(*set(sys.modules) - before)
"""
STORES = {
    "llama_index.vector_stores.monograph": (
        "llama_index.core",
        "from llama_index.core.vector_stores.types import BasePydanticVectorStore",
    ),
    "langchain_monograph": ("langchain_core", "from langchain_core.vectorstores import VectorStore"),
}


def loaded_beyond(base: str, statement: str) -> set[str]:
    """Modules that a statement loads in a new interpreter after the base was imported."""
    command = [sys.executable, "-c", BEYOND, base, statement]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize("package", STORES)
@pytest.mark.parametrize("statement", ["import {}", "from {} import EcoVectorStore"])
def test_importing_a_store_loads_only_its_own_modules(package: str, statement: str) -> None:
    framework, base = STORES[package]
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    loaded = loaded_beyond(base, statement.format(package))
    assert package in loaded
    assert {name for name in loaded if name.startswith("monograph.")} == {"monograph.errors", "monograph.lazy"}
    own = (package.partition(".monograph")[0], "monograph")
    assert {name for name in loaded if not name.startswith(own)} == set()
