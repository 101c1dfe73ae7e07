"""Mutations of real files, read in a separate process: the reader may refuse or be killed, but must not hang."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.message import EmailMessage
from functools import partial
from pathlib import Path

from fuzz import Case, Draw
from monograph import Limits
from monograph.read.file import ReadTask
from monograph.read.pool import ReaderPool
from support.bad_inputs import changed
from support.old_office import msg, ods, xls
from support.paths import SHARED
from support.reading import root_at

MOST_SECONDS = 15
"""Time limit of a reader."""
SLOW = ("scan-no-text", ".png", ".jpg")
"""Parts of names of files that are skipped: text recognition takes seconds an image, and has its own tests."""


def made(folder: Path) -> list[Path]:
    """Write samples of the formats that the shared folder lacks."""
    rows: list[list[str | float]] = [["Ship", "Men", "Day"]]
    rows += [[f"Ship {n}", float(n), "a day"] for n in range(40)]
    message = EmailMessage()
    message["From"], message["Subject"], message["MIME-Version"] = "anna@example.org", "Grüße", "1.0"
    message.set_content("The list is attached.")
    message.add_attachment(b"k,v\na,b\n", maintype="text", subtype="csv", filename="list.csv")
    chapter = b"<html><body><h1>One</h1><p>first</p><img src='x.png'/><table><tr><td>k</td></tr></table></body></html>"
    parts = {
        "mimetype": b"application/epub+zip", "O/a.xhtml": chapter,
        "META-INF/container.xml": b'<c><rootfiles><rootfile full-path="O/p.opf"/></rootfiles></c>',
        "O/p.opf": b'<p><manifest><item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/></spine></p>',
    }  # fmt: skip
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    outlook = msg(
        ("Anna", "a@b.c"), "d@e.f", "s", "text " * 900, datetime(2024, 2, 29, tzinfo=UTC), {"x.txt": b"words " * 900}
    )
    samples = {
        "a.xls": xls({"Crew": rows, "Ports": rows[:5]}), "a.ods": ods({"Crew": rows}), "a.msg": outlook, "a.eml": bytes(message),
        "a.epub": book.getvalue(), "a.rtf": rb"{\rtf1\ansi{\fonttbl{\f0 Arial;}}A caf\'e9 \u8364? in {\b town}.\par Second.}",
        "a.yaml": b"server:\n  host: a\n  ports: [1, 2]\nusers:\n- name: x\n- &y {name: y}\n- *y\n",
    }  # fmt: skip
    for name, data in samples.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in samples]


@contextmanager
def cases(folder: Path) -> Iterator[Draw]:
    """Draw changed files: those of the shared folder, if it exists, and those of :func:`made`."""
    shared = SHARED / "data/ingest-files"
    samples = sorted(shared.iterdir()) if shared.is_dir() else []
    samples = [path for path in samples if not any(part in path.name for part in SLOW)] + made(folder)
    with ReaderPool(1) as crew:

        def draw(chosen: random.Random) -> Case:
            sample = chosen.choice(samples)
            data = sample.read_bytes()
            # ZIP checksums reveal changes of compressed parts. Only changes before compression reach the parser.
            within = data[:2] == b"PK" and chosen.random() < 0.7
            path = folder / "changed" / sample.name
            return sample.name, partial(_read, crew, path, _inside(data, chosen) if within else changed(data, chosen))

        yield draw


def _inside(data: bytes, chosen: random.Random) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        struck = chosen.choice(names)
        for name in names:
            new.writestr(name, changed(old.read(name), chosen) if name == struck else old.read(name))
    return made.getvalue()


def _read(crew: ReaderPool, path: Path, data: bytes) -> None:
    """Write and read a file; assert that the reader does not hang, and returns valid documents."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    error = None
    for _, part in crew.read([ReadTask(path, root_at(path.parent), Limits(max_seconds=MOST_SECONDS))]):
        if part.error is not None:
            assert part.error.message, path
            assert f"more than {MOST_SECONDS} s" not in part.error.message, f"{path} hung"
            error = part.error if part.last else error
        for document in part.documents:
            document.text.encode()
            json.dumps(document.metadata)
            for marks in (document.places, document.sections):
                starts = [mark.start for mark in marks]
                assert starts == sorted(starts)
    if error is not None:
        raise error
