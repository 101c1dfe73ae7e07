"""Search a folder: passages with their sources."""

import tempfile
from pathlib import Path

from monograph import Monograph

texts = Path(__file__).parent / "texts"

with tempfile.TemporaryDirectory() as folder, Monograph.open(Path(folder) / "archive.mono") as archive:
    report = archive.sync(texts)
    print(f"{report.added} documents, {report.chunks_added} chunks")

    for hit in archive.search("Who found the comet, and when?", k=3):
        print(f"{hit.rank + 1}. {hit.title}: {hit.uri}, characters {hit.chunk.start} to {hit.chunk.end}")
        print(f"   found by {hit.explain()}")

    # A code must match exactly: INV-2031 does not match INV-20310.
    best = archive.search("INV-2031", k=1)[0]
    print("INV-2031 stands in", best.title)

    # Filter by metadata.
    lost = archive.search("plate", k=5, where={"quality": "lost", "year": {"<": 1970}})
    print("lost:", [hit.chunk.document_id for hit in lost])

    # The text of a hit is exactly its span of the document.
    document = archive.document(best.chunk.document_id)
    assert document.text[best.chunk.start : best.chunk.end] == best.chunk.text
