"""What a wheel holds."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.long  # A wheel is compiled.

ROOT = Path(__file__).resolve().parents[1]
SPACE = ROOT / "integrations" / "llama_index" / "llama_index"


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    ignored = shutil.ignore_patterns(".git", ".venv", "build", "dist", "__pycache__", "*.so", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, source, ignore=ignored)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 and (
        "No matching distribution" in done.stderr or "Could not find a version" in done.stderr
    ):
        pytest.skip("building a wheel needs the build tools, which cannot be fetched here")
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("monograph-*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_the_three_packages_are_in_it(names: list[str]) -> None:
    for name in (
        "monograph/__init__.py",
        "monograph/py.typed",
        "monograph/vectors/kernel/reference.py",
        "monograph/app/picture/page.html",
        "monograph/app/picture/vendor/d3-force.min.js",
        *(path.relative_to(SPACE.parent).as_posix() for path in SPACE.glob("*/monograph/*.py")),
        "langchain_monograph/__init__.py",
        "monograph_mcp/__init__.py",
        "monograph_tools/__init__.py",
    ):
        assert name in names
    assert any(
        name.startswith("monograph/vectors/kernel/_kernel.") and name.endswith((".so", ".pyd")) for name in names
    )
    assert any(name.endswith("LICENSE") for name in names)
    assert any(name.endswith("entry_points.txt") for name in names)


def test_nothing_else_is(names: list[str]) -> None:
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
    assert not [name for name in names if name.endswith((".cpp", ".mono"))]
