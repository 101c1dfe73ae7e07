"""Operations that describe the served files, their contents, and their faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query

from monograph import __version__
from monograph.app.serve.operations import Count, DocumentId, FromArchive, FromFile, Operations, ServedFiles, at_most
from monograph.library import Monograph, Reader
from monograph.read.limits import DEFAULT_LIMITS
from monograph.search.strategies import strategies
from monograph.settings import Settings
from monograph.shelf import ShelfStats, only_file, whole_file
from monograph.values import Finding, LedgerEntry, OutlineNode, Problem, Stats, Summary, SyncedSource

MOST_LAYERS = 3
"""Maximum number of layers in one response: each layer has about ten times as many summaries as the one above it."""

router = Operations()


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file that is served.

    Parameters
    ----------
    name:
        Name of the file on this server.
    path:
        Path of the file; address of a shelf.
    format:
        Format version of the file; 0 for a shelf.
    documents:
        Number of documents.
    has_tree:
        Whether it has a tree of summaries.
    always_forget:
        Whether removed text never leaves a trace.
    settings:
        The settings that it was built with.
    """

    name: str
    path: str
    format: int
    documents: int
    has_tree: bool
    always_forget: bool
    settings: Settings


@dataclass(frozen=True, slots=True)
class Serving:
    """The served files, and the settings of the server.

    Parameters
    ----------
    version:
        Version of Monograph.
    write:
        Whether files may be changed.
    model:
        Key of the model that answers; empty without one.
    mcp:
        Whether agents are served at ``/mcp``.
    ways:
        Names of the search modes.
    upload_bytes:
        Maximum number of bytes of an upload.
    files:
        The files, in the order in which they were given.
    """

    version: str
    write: bool
    model: str
    mcp: bool
    ways: tuple[str, ...]
    upload_bytes: int
    files: tuple[ServedFile, ...]


@router.get("/settings")
def settings(served: ServedFiles) -> Serving:
    """Return the served files and the settings of the server."""
    files = []
    for name, file in served.files.items():
        path = str(file.path.absolute()) if isinstance(file, Reader) else file.url
        forgets, brief = isinstance(file, Monograph) and file.files.always_forget, file.brief()
        files.append(ServedFile(name, path, brief.format, brief.documents, brief.has_tree, forgets, file.settings))
    ways, max_bytes = tuple(strategies()), DEFAULT_LIMITS.max_bytes
    return Serving(__version__, served.write, served.model, served.agents, ways, max_bytes, tuple(files))


@router.get("/costs")
def costs(archive: FromArchive) -> list[LedgerEntry]:
    """List the calls of models for a file, and their tokens, as `monograph costs --json` prints them."""
    return whole_file(archive, "ledger of costs", "costs").costs()


@router.get("/stats")
def stats(archive: FromArchive) -> Stats | ShelfStats:
    """Count a file's contents and their sizes, as `monograph stats` or `monograph shelf stats` prints them."""
    return archive.stats()


@router.get("/check")
def check(archive: FromArchive) -> list[Finding]:
    """Check a file for damage, as `monograph check --json` prints it."""
    return (whole_file(archive, "check", "check") if isinstance(archive, Reader) else archive).check()


@router.get("/sources")
def sources(file: FromFile) -> list[SyncedSource]:
    """List the followed folders, as `monograph sources --json` prints them; none for a view or a snapshot."""
    return file.files.sources() if isinstance(file, Monograph) else []


@router.get("/failures")
def failures(file: FromFile) -> list[Problem]:
    """List the files that could not be stored, and why."""
    return [failure for source in sources(file) for failure in source.failures]


@router.get("/outline")
def outline(
    archive: FromArchive,
    node: Annotated[str, Query(description="Id of a summary, or its first four digits; empty for the top.")] = "",
    layers: Annotated[Count, Query(description="Number of layers below it, at most 3."), at_most(MOST_LAYERS)] = 1,
) -> list[OutlineNode]:
    """Return the tree of summaries as a table of contents, as `monograph outline --json` prints it."""
    return only_file(archive, "tree of summaries").tree.outline(node, layers)


@router.get("/summary")
def summary(
    archive: FromArchive,
    identifier: Annotated[str, Query(alias="id", description="Id of the summary, or its first four digits.")],
) -> Summary:
    """Return a summary, and the sources of its sentences."""
    return only_file(archive, "tree of summaries").tree.summary(identifier)


@router.get("/document/summaries")
def summaries(archive: FromArchive, identifier: DocumentId) -> list[Summary]:
    """List the summaries of a document's passages, from the lowest layer up; none for a shelf."""
    return archive.tree.over(identifier) if isinstance(archive, Reader) else []
