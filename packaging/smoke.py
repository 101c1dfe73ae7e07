"""An installed Monograph does its main work: what wheels are tried with, on every system that they are built for.

Run it with ``python packaging/smoke.py examples/texts``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import monograph
from monograph import Document, Monograph


def main(texts: Path) -> None:
    """Sync a folder, search it, forget, check, export and import; raises AssertionError where one does not work."""
    print(sys.version, monograph.__file__)
    with tempfile.TemporaryDirectory() as place:
        file, out = Path(place) / "a.mono", Path(place) / "out"
        with Monograph.open(file) as archive:
            report = archive.sync(texts)
            assert report.added == 28 and not report.problems, report
            for how in ("lexical", "dense", "hybrid", "graph"):
                titles = [hit.title for hit in archive.search("Who discovered the comet?", how=how)]
                assert any("comet" in one.lower() or "4102" in one for one in titles), (how, titles)
            archive.add([Document("The safe opens with kumquat.", id="secret")])
            archive.remove(["secret"], forget=True)
            assert archive.check() == []
            archive.export(out)
        with Monograph.open(Path(place) / "b.mono") as again:
            assert again.files.take_over("jsonl", out).added == 28
        asked = [sys.executable, "-m", "monograph.app.cli", "search", str(file), "INV-2031", "-k", "1"]
        said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        assert "INV-2031" in said, said
    print("all is well")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
