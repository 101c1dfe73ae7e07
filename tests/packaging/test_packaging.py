"""Metadata of the distribution and of its aliases."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import monograph
from support.paths import ROOT
from support.wheels import build_wheel

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAMES = sorted((ROOT / "packaging").glob("*/pyproject.toml"))


def test_versions_agree() -> None:
    assert PROJECT["version"] == monograph.__version__
    assert len(NAMES) >= 4
    assert {tomllib.loads(path.read_text())["project"]["version"] for path in NAMES} == {PROJECT["version"]}


@pytest.mark.parametrize("path", NAMES, ids=lambda path: path.parent.name)
def test_alias_distribution_depends_on_monograph(path: Path) -> None:
    told = tomllib.loads(path.read_text())["project"]
    assert told["name"] == path.parent.name
    (needed,) = told["dependencies"]
    assert needed.startswith("monograph[")
    extra, _, least = needed.removeprefix("monograph[").partition("]>=")
    assert extra in PROJECT["optional-dependencies"]
    assert least == PROJECT["version"]
    assert f"pip install {told['name']}" in (path.parent / "README.md").read_text()
    assert told["requires-python"] == PROJECT["requires-python"]


def test_extras_refer_to_existing_extras() -> None:
    extras = PROJECT["optional-dependencies"]
    for needed in (one for some in extras.values() for one in some if one.startswith("monograph[")):
        assert set(needed.removeprefix("monograph[").rstrip("]").split(",")) <= set(extras)


def test_missing_compiled_module_is_reported_in_one_line() -> None:
    code = "import sys; sys.modules['monograph.text_pass._text_pass'] = None; from monograph import Monograph"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "_text_pass cannot be loaded" in done.stderr.splitlines()[-1]
    assert "pip install" in done.stderr.splitlines()[-1]


@pytest.mark.long
def test_alias_distribution_contains_no_modules(tmp_path: Path) -> None:
    """The test builds one of them: they differ only in their ``project`` table."""
    told = [{**tomllib.loads(path.read_text()), "project": None} for path in NAMES]
    assert all(one == told[0] for one in told)
    wheel = build_wheel(NAMES[0].parent, tmp_path)
    assert [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name] == []
