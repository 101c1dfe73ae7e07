"""Edit a document: only the changed chunks are embedded. Remove one, and erase its bytes from the file."""

import shutil
import tempfile
from pathlib import Path

from monograph import Document, Monograph

with tempfile.TemporaryDirectory() as folder, Monograph.open(Path(folder) / "archive.mono") as archive:
    texts = shutil.copytree(Path(__file__).parent / "texts", Path(folder) / "texts")
    first = archive.sync(texts)
    print(f"first sync: {first.embedded} embedded")
    print(f"again: {archive.sync(texts).embedded} embedded")

    lentils = texts / "kitchen" / "lentils.md"
    with lentils.open("a", encoding="utf-8") as page:
        page.write("\nSome add vinegar. They are wrong.\n")
    plan = archive.files.plan(texts)
    print(f"the plan: {len(plan.of('changed'))} changed, {plan.cost.embeddings} to embed")
    print(f"done: {archive.files.apply(plan).embedded} embedded")

    # A document need not come from a file. It can be a note of an agent, for example.
    archive.add([Document("The key to the cellar hangs behind the clock.", id="note-1", metadata={"kind": "note"})])
    print("found:", archive.search("where is the key?", k=1, where={"kind": "note"})[0].chunk.text)

    archive.remove(["note-1"], forget=True)
    left = b"".join(path.read_bytes() for path in Path(folder).glob("archive.mono*"))
    print("a trace of the note in the file:", b"behind the clock" in left)
    print("faults:", archive.check())
