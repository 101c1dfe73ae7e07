"""What importing an integration loads beyond the framework's own base classes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from monograph import Document, Monograph

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
@pytest.mark.parametrize(
    ("statement", "modules"),
    [
        pytest.param("import {}", {"monograph.lazy"}, marks=pytest.mark.long),
        ("from {} import EcoVectorStore", {"monograph.errors", "monograph.lazy"}),
    ],
)
def test_importing_a_store_loads_only_its_own_modules(package: str, statement: str, modules: set[str]) -> None:
    framework, base = STORES[package]
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    loaded = loaded_beyond(base, statement.format(package))
    assert package in loaded
    assert {name for name in loaded if name.startswith("monograph.")} == modules
    own = (package.partition(".monograph")[0], "monograph")
    assert {name for name in loaded if not name.startswith(own)} == set()


SERVER = """
import sys
from monograph import Monograph
from monograph_mcp import make_server
with Monograph.open(sys.argv[1], read_only=True) as notes:
    make_server(notes)
    print(*sys.modules)
"""


def test_server_of_a_file_loads_neither_models_nor_shelves_nor_writers(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    with Monograph.open(tmp_path / "notes.mono") as notes:
        notes.add([Document("Ines Calder found the comet in Draco.", id="comet")])
    command = [sys.executable, "-c", SERVER, str(tmp_path / "notes.mono")]
    loaded = set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    assert "monograph_mcp.server" in loaded
    unwanted = {"monograph.shelf.shelf", "monograph.sync", "monograph.write.batch", "monograph.derive.embed"}
    assert not loaded & {*unwanted, "monograph.read.file", "wordllama", "tokenizers"}
