"""Modules that a reader process imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from monograph.read.file import _READERS

READ = """
import sys
from pathlib import Path
from monograph.read.limits import Limits
from monograph.read.file import ReadTask
from monograph.values import Root
path = Path(sys.argv[1])
(part,) = ReadTask(path, Root(str(path.parent), str(path.parent)), Limits()).parts()
assert part.documents, part
print(*sys.modules)
"""
READERS = {f"monograph.read.{module}" for module, _ in _READERS.values()}


@pytest.mark.parametrize(
    ("name", "text", "reader"),
    [("a.csv", "name,seen\nComet,1963\n", "table"), ("a.json", '{"name": "Comet"}', "records")],
)
def test_reader_process_loads_only_the_reader_of_its_file(tmp_path: Path, name: str, text: str, reader: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    command = [sys.executable, "-c", READ, str(path)]
    loaded = set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    # The reader of texts cuts what every reader found into sections.
    assert loaded & READERS == {f"monograph.read.{reader}", "monograph.read.text"}
    assert not loaded & {
        "numpy",
        "sqlite3",
        "monograph.library",
        "monograph.store",
        "monograph.sync",
        "monograph.derive",
    }
