"""Output of hits, documents and passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from monograph.app.output import SHOWN_CHARACTERS, print_line, print_table, print_text

if TYPE_CHECKING:
    from monograph.values import Chunk, Document, Hit, Metadata, Version


def print_hits(hits: Sequence[Hit], *, explain: bool) -> None:
    """Print hits with their sources, best first."""
    if not hits:
        print_line("nothing found")
    for hit in hits:
        print_line(f"{hit.rank + 1}. {headed(hit.title, hit.metadata)}", style="bold")
        if hit.summary is None:
            place = format_place(hit.uri or hit.chunk.document_id, hit.chunk, hit.metadata)
            former = "" if hit.valid is None or hit.valid.until is None else f"  (as it was {hit.valid})"
            print_line(f"   {place}  [{hit.chunk.id}]{former}", style="dim")
        else:
            under = f"summary of {len(hit.summary.chunks):,} passages, layer {hit.summary.layer}"
            print_line(f"   {under}  [{hit.summary.id}]", style="dim")
        if explain:
            print_line(f"   {hit.explain()}", style="dim")
        elif hit.path is not None:
            print_line(f"   {hit.path}", style="dim")
        print_passage(hit.text)


def headed(title: str, metadata: Metadata) -> str:
    """Return the headings of a chunk: the title of its document, then its section. ``metadata`` is the chunk's."""
    return " › ".join(heading for heading in (title, section_of(title, metadata)) if heading)


def title_and_uri(documents: Mapping[str, Document], identifier: str) -> tuple[str, str]:
    """Return (title, uri) of the document with the id ``identifier``; without a uri, return (title, id).

    If ``documents`` lacks the id, return an empty title and the id.
    """
    document = documents.get(identifier)
    return ("", identifier) if document is None else (document.title, document.uri or document.id)


def section_of(title: str, metadata: Metadata) -> str:
    """Return the section of a chunk: the headings that apply to the chunk, without the title of the document.

    ``title`` is the title of the document, and ``metadata`` is the metadata of the chunk.
    """
    return str(metadata.get("section", "")).removeprefix(title).removeprefix(" > ")


def format_place(where: str, chunk: Chunk, metadata: Metadata) -> str:
    """Return a chunk's place, such as ``page 3 of a.pdf:0-90``; ``where`` is the uri or id of the document."""
    place = f"{where}:{chunk.start}-{chunk.end}"
    from monograph.values import cite

    position = cite(metadata)
    return f"{position} of {place}" if position else place


def print_passage(text: str, limit: int | None = SHOWN_CHARACTERS) -> None:
    """Print the first ``limit`` characters of a passage, indented, then an empty line. None prints the whole text."""
    shown = text if limit is None else ellipsis(text, limit)
    print_text("\n".join(f"   {line}" for line in shown.split("\n") if line.strip()) + "\n")


def ellipsis(text: str, limit: int) -> str:
    """Return the first ``limit`` characters of a text, with an ellipsis if there are more."""
    return text if len(text) <= limit else text[:limit].rstrip() + " …"


def print_documents(documents: Sequence[Document]) -> None:
    """Print one line for each document."""
    headings = ("id", "title", "uri")
    print_table(headings, [(document.id, document.title, document.uri) for document in documents], folding=headings)


def print_document(document: Document) -> None:
    """Print a document with its text."""
    print_line(document.title, style="bold")
    print_line(f"{document.uri}  [{document.id}]", style="dim")
    if document.date is not None:
        print_line(f"from {document.date} (by its {document.date.source})", style="dim")
    if document.valid is not None:
        print_line(f"valid {document.valid}", style="dim")
    for key, value in document.metadata.items():
        print_line(f"{key}: {value}", style="dim")
    print_line()
    print_text(document.text)


def print_versions(versions: Sequence[Version]) -> None:
    """Print one line for each version of a document, oldest first."""
    for version in versions:
        print_line(f"{version.valid}  {version.title}  {version.characters:,} characters  [{version.id}]")


def print_neighbours(chunk: Chunk, near: Sequence[Chunk], count: int) -> None:
    """Print neighbouring chunks of a document, and mark one of them.

    ``near`` are the chunks to print, and ``chunk`` is the chunk to mark. ``count`` is the number of all chunks of the
    document.
    """
    for neighbour in near:
        mark = "▶" if neighbour.id == chunk.id else " "
        print_line(
            f"{mark} {neighbour.ordinal + 1} of {count}  {neighbour.start}-{neighbour.end}  [{neighbour.id}]",
            style="bold" if neighbour.id == chunk.id else "dim",
        )
        print_passage(neighbour.text, None)
