"""Mutations of real files, read in a process of their own: the reader may refuse, and may be killed, but never hang."""

from __future__ import annotations

import io
import itertools
import json
import random
import zipfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from email.message import EmailMessage
from functools import partial
from pathlib import Path

from monograph import Limits
from monograph.errors import MonographError
from monograph.read.file import ReadTask
from monograph.read.pool import ReaderPool
from support.bad_inputs import changed
from support.old_office import msg, ods, xls
from support.paths import SHARED
from support.reading import root_at

MOST_SECONDS = 15
"""For a reader."""
SLOW = ("scan-no-text", ".png", ".jpg")
"""Recognising words takes seconds an image: these are left to the tests of recognition."""


def made(folder: Path) -> list[Path]:
    """Samples of the formats that no sample on disk has."""
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


def mutations(samples: Sequence[Path], seed: int) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) without end: every sample in turn, changed somewhere."""
    chosen = random.Random(seed)
    for number in itertools.count():
        yield _mutation(samples, number, chosen)


def _mutation(samples: Sequence[Path], number: int, chosen: random.Random) -> tuple[str, bytes]:
    sample = samples[number % len(samples)]
    data = sample.read_bytes()
    # Bytes changed in a compressed part are found by its check sum: within the parts they reach the parser.
    within = data[:2] == b"PK" and chosen.random() < 0.7
    return f"{number}-{sample.name}", _inside(data, chosen) if within else changed(data, chosen)


def _inside(data: bytes, chosen: random.Random) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        struck = chosen.choice(names)
        for name in names:
            new.writestr(name, changed(old.read(name), chosen) if name == struck else old.read(name))
    return made.getvalue()


def survive(cases: Iterator[tuple[str, bytes]], folder: Path) -> tuple[int, int]:
    """Read cases; how many were read, and how many refused.

    Raises
    ------
    AssertionError
        If a reader hung, or a part of one is not what a part must be.
    """
    whole = failed = 0
    with ReaderPool(1) as crew:
        while some := list(itertools.islice(cases, 20)):
            errors = _read(crew, folder, some)
            failed += len(errors)
            whole += len(some) - len(errors)
    return whole, failed


def _read(crew: ReaderPool, folder: Path, some: Sequence[tuple[str, bytes]]) -> list[MonographError]:
    """The errors of files that were refused; raises as :func:`survive`."""
    paths = [folder / name for name, _ in some]
    for path, (_, data) in zip(paths, some, strict=True):
        path.write_bytes(data)
    errors: list[MonographError] = []
    for at, part in crew.read([ReadTask(path, root_at(folder), Limits(max_seconds=MOST_SECONDS)) for path in paths]):
        if part.error is not None:
            assert part.error.message, paths[at]
            assert f"more than {MOST_SECONDS} s" not in part.error.message, f"{paths[at]} hung"
            errors += [part.error] if part.last else []
        for document in part.documents:
            document.text.encode()
            json.dumps(document.metadata)
            starts = [one.start for one in document.places]
            assert starts == sorted(starts)
            assert [one.start for one in document.sections] == sorted(one.start for one in document.sections)
    for path in paths:
        path.unlink()
    return errors


def cases(seed: int, folder: Path, first: int = 0) -> Iterator[tuple[str, Callable[[], object]]]:
    """A changed file a case."""
    (folder / "made").mkdir()
    (folder / "changed").mkdir()
    held = samples(folder / "made")
    with ReaderPool(1) as crew:
        for at in itertools.count(first):
            name, data = _mutation(held, at, random.Random(f"{seed}/{at}"))
            yield name, partial(_read_one, crew, folder / "changed", name, data)


def _read_one(crew: ReaderPool, folder: Path, name: str, data: bytes) -> None:
    for error in _read(crew, folder, [(name, data)]):
        raise error


def samples(beside: Path) -> list[Path]:
    """The files that are changed: those of the shared folder, where it is there, and those that are made."""
    folder = SHARED / "data/ingest-files"
    found = sorted(path for path in folder.iterdir()) if folder.is_dir() else []
    return [*(path for path in found if not any(part in path.name for part in SLOW)), *made(beside)]
