"""Exports and other stores with changed bytes or values: an import may refuse them, or a part of them."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import Case, Draw
from monograph import Document, Monograph, Passage
from monograph.values import Place, Section
from support.bad_inputs import scalar
from support.models import HashEmbedder

TEXT = "Mrs Grubb repaired the boiler in Obermatt. Tobias Renk paid her on 4 May 1963. "
RAGDB = """CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT, content TEXT, media_type TEXT, mime_type TEXT,
    metadata TEXT, updated_at TEXT)"""


def base(folder: Path) -> dict[str, Path]:
    """Create a store of each format that can be read without another package."""
    vector = np.array([3.0, 4.0, 0.0, 0.0], dtype=np.float32)
    some = [
        Document(
            TEXT * 9, id="a", metadata={"year": 1963}, sections=(Section(0, ("One",)),), places=(Place(0, page=1),)
        ),
        Document(id="b", passages=(Passage(TEXT, "p1", {"n": 1}, vector), Passage("The second.", "p2"))),
    ]
    with Monograph.open(folder / "base.mono", HashEmbedder(4)) as made:
        made.add(some)
        made.export(folder / "jsonl")
    (folder / "lightrag").mkdir()
    stored = {f"doc-{at}": {"content": TEXT, "file_path": f"{at}.md"} for at in range(3)}
    (folder / "lightrag" / "kv_store_full_docs.json").write_text(json.dumps(stored))
    (folder / "ragdb").mkdir()
    with closing(sqlite3.connect(folder / "ragdb" / "r.db")) as connection:
        connection.execute(RAGDB)
        rows = [(f"{at}.md", TEXT, "text", "text/plain", '{"size": 1}', "2026") for at in range(40)]
        connection.executemany("INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, ?, ?)", rows)
        connection.commit()
    return {"jsonl": folder / "jsonl", "lightrag": folder / "lightrag", "ragdb": folder / "ragdb"}


@contextmanager
def cases(folder: Path) -> Iterator[Draw]:
    """Draw changed copies, which are imported into a new file."""
    stores = base(folder)

    def draw(chosen: random.Random) -> Case:
        kind = chosen.choice(["jsonl", "jsonl", *stores])
        place = folder / "changed"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(stores[kind], place)
        path = chosen.choice(sorted(place.iterdir()))
        description = f"{kind}, {path.name}, {change(path, chosen)}"
        return description, partial(taken, folder, place / "r.db" if kind == "ragdb" else place, kind)

    yield draw


def taken(folder: Path, place: Path, kind: str) -> None:
    """Import a store into a new file, and assert that the file has no faults, also if the import raises."""
    for name in folder.glob("new.mono*"):
        name.unlink()
    with Monograph.open(folder / "new.mono", HashEmbedder(4)) as made:
        try:
            made.files.take_over(kind, place)
        finally:
            assert made.check() == []


def change(path: Path, chosen: random.Random) -> str:
    """Change the bytes, or in JSON mostly a value, of a file; return a description of the change."""
    data = path.read_bytes()
    if path.suffix in (".json", ".jsonl") and chosen.random() < 0.7:
        lines = [data] if path.suffix == ".json" else data.splitlines()
        at = chosen.randrange(len(lines))
        value = json.loads(lines[at])
        said = replace(value, chosen)
        lines[at] = json.dumps(value).encode()
        path.write_bytes(b"\n".join(lines))
        return said
    how = chosen.choice(("flip", "cut", "double"))
    at = chosen.randrange(len(data))
    if how == "flip":
        data = data[:at] + bytes([data[at] ^ 1 << chosen.randrange(8)]) + data[at + 1 :]
    else:
        data = data[:at] if how == "cut" else data[:at] + data[at // 2 :]
    path.write_bytes(data)
    return f"{how} at {at}"


def replace(value: Any, chosen: random.Random) -> str:
    """Replace a random value at any depth; return a description of the change."""
    while True:
        key = chosen.choice(list(value) if isinstance(value, dict) else range(len(value)))
        below = value[key]
        if isinstance(below, dict | list) and below and chosen.random() < 0.7:
            value = below
            continue
        value[key] = scalar(chosen)
        return f"{key} is {value[key]!r}"[:200]
