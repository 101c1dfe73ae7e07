"""Routes that say what is served, what a file holds, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from monograph import __version__
from monograph.app.serve.reading import OneDocument
from monograph.app.serve.served import Served
from monograph.library import Monograph, Reader
from monograph.read.limits import DEFAULT_LIMITS
from monograph.search.strategies import strategies
from monograph.settings import Settings
from monograph.shelf import ShelfStats, only_file, whole_file
from monograph.values import Finding, LedgerEntry, OutlineNode, Problem, Stats, Summary, SyncedSource

if TYPE_CHECKING:
    from monograph.shelf import Archive

MOST_LAYERS = 3
"""Of one answer: each layer has some ten times as many summaries as the one above it."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No parameters."""


@dataclass(frozen=True, slots=True)
class OneFile:
    """A file.

    Parameters
    ----------
    file:
        Its name; the first one, if it is not given.
    """

    file: str = ""


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file that is served.

    Parameters
    ----------
    name:
        What it is called here.
    path:
        Where it lies; of a shelf its address.
    format:
        Of the file; 0 for a shelf.
    documents:
        How many it holds.
    has_tree:
        Whether it has a tree of summaries.
    always_forget:
        Whether whatever is taken out is forgotten.
    settings:
        The numbers it is built with.
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
    """What is served, and how.

    Parameters
    ----------
    version:
        Of Monograph.
    write:
        Whether files may be changed.
    model:
        Key of the model that answers; empty without one.
    mcp:
        Whether agents are served at ``/mcp``.
    ways:
        Names of ways to search.
    upload_bytes:
        Most bytes of an upload.
    files:
        In the order in which they were given.
    """

    version: str
    write: bool
    model: str
    mcp: bool
    ways: tuple[str, ...]
    upload_bytes: int
    files: tuple[ServedFile, ...]


def settings(served: Served, asked: Nothing) -> Serving:
    """What is served, and how."""
    files = tuple(_served_file(name, file) for name, file in served.files.items())
    ways = tuple(strategies())
    return Serving(__version__, served.write, served.model, served.agents, ways, DEFAULT_LIMITS.max_bytes, files)


def _served_file(name: str, file: Archive) -> ServedFile:
    found = file.brief()
    return ServedFile(
        name,
        str(file.path.absolute()) if isinstance(file, Reader) else file.url,
        found.format,
        found.documents,
        found.has_tree,
        isinstance(file, Monograph) and file.files.always_forget,
        file.settings,
    )


def costs(served: Served, asked: OneFile) -> list[LedgerEntry]:
    """What models were asked for a file, and the tokens it took, as ``monograph costs --json`` prints it."""
    return whole_file(served.archive(asked.file), "ledger of costs", "costs").costs()


def stats(served: Served, asked: OneFile) -> Stats | ShelfStats:
    """Count and weigh what a file holds, as ``monograph stats`` or, of a shelf, ``monograph shelf stats`` prints it."""
    return served.archive(asked.file).stats()


def check(served: Served, asked: OneFile) -> list[Finding]:
    """Hold every table against every other, as ``monograph check --json`` prints it."""
    archive = served.archive(asked.file)
    return (whole_file(archive, "check", "check") if isinstance(archive, Reader) else archive).check()


def sources(served: Served, asked: OneFile) -> list[SyncedSource]:
    """The folders that are followed, as ``monograph sources --json`` prints them."""
    return _followed(served.file(asked.file))


def _followed(file: Reader) -> list[SyncedSource]:
    """Return the folders that a whole file follows; of a view or a snapshot none."""
    return file.files.sources() if isinstance(file, Monograph) else []


def failures(served: Served, asked: OneFile) -> list[Problem]:
    """The files that could not be taken in, and why."""
    return [failure for one in _followed(served.file(asked.file)) for failure in one.failures]


@dataclass(frozen=True, slots=True)
class Opened:
    """A part of the tree of summaries.

    Parameters
    ----------
    node:
        A summary's id, or its first four digits; empty for the top.
    layers:
        How many layers are opened below it, at most 3.
    file:
        The file's name.
    """

    node: str = ""
    layers: int = 1
    file: str = ""


def outline(served: Served, asked: Opened) -> list[OutlineNode]:
    """The tree of summaries as a table of contents, as ``monograph outline --json`` prints it."""
    tree = only_file(served.archive(asked.file), "tree of summaries").tree
    return tree.outline(asked.node, min(asked.layers, MOST_LAYERS))


@dataclass(frozen=True, slots=True)
class OneSummary:
    """A summary.

    Parameters
    ----------
    id:
        Its id, or the first four digits.
    file:
        The file's name.
    """

    id: str
    file: str = ""


def summary(served: Served, asked: OneSummary) -> Summary:
    """A summary, and where its sentences stand."""
    return only_file(served.archive(asked.file), "tree of summaries").tree.summary(asked.id)


def summaries(served: Served, asked: OneDocument) -> list[Summary]:
    """The summaries over the passages of a document, from the lowest layer up; none of a shelf."""
    archive = served.archive(asked.file)
    return archive.tree.over(asked.id) if isinstance(archive, Reader) else []
