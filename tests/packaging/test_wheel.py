"""Wheel built on a machine without a compiler: its files, its use, and its types."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from support.paths import ROOT
from support.wheels import build_wheel

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]  # These tests compile a wheel.

SPACE = ROOT / "integrations" / "llama_index" / "llama_index"


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment variables of a machine with a shell and Python, but without a compiler."""
    folder = tmp_path_factory.mktemp("bare")
    for name in ("sh", "env"):
        (folder / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    (folder / "python3").symlink_to(Path(sys.executable).resolve())
    kept = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX", "CFLAGS", "CXXFLAGS")}
    return kept | {"PATH": str(folder)}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory, bare: dict[str, str], worker_id: str) -> Path:
    """The wheel of this tree, built once for all workers, without a compiler on the path."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "wheel"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if built := next(folder.glob("monograph-*.whl"), None):
            return built
        ignored = (".git", ".venv", "build", "dist", "__pycache__", "*.so", ".*_cache", ".hypothesis")
        source = shutil.copytree(ROOT, folder / "source", ignore=shutil.ignore_patterns(*ignored))
        # -O1 halves the compile time.
        return build_wheel(source, folder, "-C", "cmake.define.CMAKE_CXX_FLAGS_RELEASE=-O1", env=bare)


@pytest.fixture
def names(wheel: Path) -> list[str]:
    return zipfile.ZipFile(wheel).namelist()


def test_wheel_contains_every_package_and_compiled_module(names: list[str]) -> None:
    for name in (
        "monograph/__init__.py",
        "monograph/py.typed",
        "monograph/vectors/kernel/__init__.py",
        "monograph/app/picture/page.html",
        "monograph/app/picture/vendor/d3-force.min.js",
        "monograph/app/serve/page/index.html",
        "monograph/app/serve/page/main.js",
        *(path.relative_to(SPACE.parent).as_posix() for path in SPACE.glob("*/monograph/*.py")),
        "langchain_monograph/__init__.py",
        "monograph_mcp/__init__.py",
        "monograph_tools/__init__.py",
        *(path.relative_to(SPACE.parent).as_posix() + "/py.typed" for path in SPACE.glob("*/monograph")),
        "langchain_monograph/py.typed",
        "monograph_mcp/py.typed",
        "monograph_tools/py.typed",
    ):
        assert name in names
    for module in (
        "monograph/vectors/kernel/_kernel.",
        "monograph/text_pass/_text_pass.",
        "monograph/store/words/inverted/_inverted.",
        "monograph/store/file/mapped/_mapped.",
        "monograph/search/scoring/_scoring.",
    ):
        assert any(name.startswith(module) and name.endswith((".so", ".pyd")) for name in names)
    assert any(name.endswith("LICENSE") for name in names)
    assert any(name.endswith("entry_points.txt") for name in names)


def test_wheel_contains_nothing_else(names: list[str]) -> None:
    assert "llama_index/__init__.py" not in names
    assert not [
        name
        for name in names
        if name.startswith("llama_index/") and name.count("/") == 2 and name.endswith("/__init__.py")
    ]
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "monograph",
        "llama_index",
        "langchain_monograph",
        "monograph_mcp",
        "monograph_tools",
    }
    assert not [name for name in names if name.endswith((".cpp", ".hpp", ".mono"))]


@pytest.fixture
def environment(wheel: Path, tmp_path: Path) -> Path:
    """Virtual environment with the wheel, which uses the dependencies of the current environment."""
    place = tmp_path / "environment"
    venv.create(place)
    packages = next(place.glob("lib/python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(packages)
    # All package folders are listed, because Python does not read .pth files in folders added by a .pth file.
    needed = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (packages / "needed.pth").write_text("\n".join(needed))
    return place


def test_wheel_works_without_a_compiler(environment: Path, bare: dict[str, str], tmp_path: Path) -> None:
    command = [environment / "bin" / "python", ROOT / "packaging" / "smoke.py", ROOT / "examples" / "texts"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=bare)
    assert done.returncode == 0, done.stderr
    assert str(environment) in done.stdout


def test_build_without_a_compiler_fails_with_one_line(bare: dict[str, str]) -> None:
    """The package ``ziglang`` is absent too. The line is no traceback."""
    code = "import sys; sys.modules['ziglang'] = None; import build_backend; build_backend.use_ziglang()"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT / "tools", capture_output=True, text=True, check=False, env=bare)
    assert done.returncode != 0
    assert done.stderr.startswith("Monograph needs a C++ compiler")
    assert done.stderr.count("\n") == 1


PROGRAM = """
from langchain_monograph import EcoVectorStore, HybridRetriever
from llama_index.embeddings.monograph import MonographEmbedding
from llama_index.graph_stores.monograph import MonographPropertyGraphStore
from llama_index.indices.monograph import EraRAGIndex
from llama_index.llms.monograph import LlamaIndexModel
from llama_index.postprocessor.monograph import SCRPostprocessor
from llama_index.query_engine.monograph import CitingQueryEngine
from llama_index.readers.monograph import MonographReader
from llama_index.retrievers.monograph import MiniRAGRetriever
from llama_index.tools.monograph import MonographToolSpec
from llama_index.vector_stores.monograph import EcoVectorStore as Store
from monograph import Monograph
from monograph_mcp import make_server
from monograph_tools import offered

with Monograph.open("x.mono") as archive:
    reveal_type(archive.search("x")[0].relevance)
    reveal_type(EcoVectorStore(archive).similarity_search_with_score("x"))
    reveal_type(HybridRetriever(monograph=archive).monograph)
    reveal_type(MonographEmbedding(archive.embedder).embed_batch_size)
    reveal_type(MonographPropertyGraphStore(archive).client)
    reveal_type(EraRAGIndex([], archive).monograph)
    reveal_type(LlamaIndexModel.called)
    reveal_type(SCRPostprocessor(archive).cut)
    reveal_type(CitingQueryEngine(archive))
    reveal_type(MonographReader(archive).load_data())
    reveal_type(MiniRAGRetriever(archive).close())
    reveal_type(MonographToolSpec(archive).to_tool_list())
    reveal_type(Store(archive).client)
    reveal_type(make_server(archive))
    reveal_type(offered(archive))
    EcoVectorStore(archive).similarity_search(3)
"""


def test_programs_see_the_types_of_the_wheel(environment: Path, tmp_path: Path) -> None:
    for package in ("mypy", "mcp", "llama_index.core", "langchain_core"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    python = environment / "bin" / "python"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable", str(python)]
    done = subprocess.run([*command, program], cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    revealed = [line.partition("Revealed type is ")[2] for line in lines if "Revealed type" in line]
    assert len(revealed) == PROGRAM.count("reveal_type"), done.stdout + done.stderr
    assert not [line for line in revealed if "Any" in line]
    errors = [line for line in lines if ": error: " in line]
    assert len(errors) == 1, done.stdout
    assert 'Argument 1 to "similarity_search" of "EcoVectorStore" has incompatible type "int"' in errors[0]
