"""What is released: versions that agree, names that lead to the one distribution, files that linters know nothing of."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import monograph

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAMES = sorted((ROOT / "packaging").glob("*/pyproject.toml"))


def test_versions_agree() -> None:
    assert PROJECT["version"] == monograph.__version__
    assert len(NAMES) >= 4
    assert {tomllib.loads(path.read_text())["project"]["version"] for path in NAMES} == {PROJECT["version"]}


@pytest.mark.parametrize("path", NAMES, ids=lambda path: path.parent.name)
def test_a_name_leads_to_the_one_distribution(path: Path) -> None:
    told = tomllib.loads(path.read_text())["project"]
    assert told["name"] == path.parent.name
    (needed,) = told["dependencies"]
    assert needed.startswith("monograph[")
    extra, _, least = needed.removeprefix("monograph[").partition("]>=")
    assert extra in PROJECT["optional-dependencies"]
    assert least == PROJECT["version"]
    assert f"pip install {told['name']}" in (path.parent / "README.md").read_text()
    assert told["requires-python"] == PROJECT["requires-python"]


def test_extras_named_in_extras_are_there() -> None:
    extras = PROJECT["optional-dependencies"]
    for needed in (one for some in extras.values() for one in some if one.startswith("monograph[")):
        assert set(needed.removeprefix("monograph[").rstrip("]").split(",")) <= set(extras)


def built(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 and (
        "No matching distribution" in done.stderr or "Could not find a version" in done.stderr
    ):
        pytest.skip(f"building {what} needs the build tools, which cannot be fetched here")
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_name_holds_nothing_itself(tmp_path: Path) -> None:
    """One of them: they are alike but for what they are called."""
    told = [{**tomllib.loads(path.read_text()), "project": None} for path in NAMES]
    assert all(one == told[0] for one in told)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path), str(NAMES[0].parent)]
    built(command, NAMES[0].parent.name)
    (wheel,) = tmp_path.glob("*.whl")
    assert [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name] == []


MAKE = """
import sys
import monograph
from monograph import Document, Monograph
print(monograph.__file__)
with Monograph.open(sys.argv[1]) as archive:
    archive.sync(sys.argv[2])
    archive.add([Document("The safe opens with kumquat.", id="safe", metadata={"year": 1963})])
    print(*sorted(one.id for one in archive.documents()))
"""


def version_before() -> str:
    """The version that made files which people have: named, or the last one that was tagged."""
    named = os.environ.get("MONOGRAPH_BEFORE", "")
    if named:
        return named
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("there is no git here that would have an older version")
    last = ["git", "-C", str(ROOT), "describe", "--tags", "--abbrev=0", "--match", "v*"]
    done = subprocess.run(last, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("no version is tagged yet: make upgrade BEFORE=COMMIT tries any other")
    return done.stdout.strip()


@pytest.mark.long
@pytest.mark.plain("an older version makes the file, and has no key")
def test_a_file_of_the_version_before_is_opened(tmp_path: Path) -> None:
    """Its wheel is made without a compiler, which makes the same file."""
    version, place = version_before(), tmp_path / "before"
    place.mkdir()
    archived = subprocess.run(["git", "-C", str(ROOT), "archive", version], capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(place)], input=archived.stdout, check=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-C", "wheel.cmake=false"]
    built([*command, "-w", str(tmp_path), str(place)], f"the wheel of {version}")
    (wheel,) = tmp_path.glob("*.whl")
    # In an environment of its own, which takes what it needs from this one, but not this version.
    own = tmp_path / "environment"
    venv.create(own)
    packages = next(own.glob("lib/python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(packages)
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib"))
    texts, file = shutil.copytree(ROOT / "examples" / "texts", tmp_path / "texts"), tmp_path / "a.mono"
    run = [str(own / "bin" / "python"), "-c", MAKE, str(file), str(texts)]
    made = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    module, *ids = made.stdout.split()
    assert Path(module).is_relative_to(packages)
    with monograph.Monograph.open(file) as archive:
        report = archive.sync(texts)
        assert (report.added, report.changed, report.removed, report.embedded) == (0, 0, 0, 0)
        assert archive.check() == []
        assert sorted(one.id for one in archive.documents()) == ids
        assert archive.document("safe").metadata == {"year": 1963}
        assert archive.search("Who discovered the comet?", k=3)
