"""Plans, costs and reports of writes, states of roots and files on disk, and progress."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Problem:
    """File or document that could not be stored, with the reason.

    ``needs`` is the Python module that is missing, if that is the reason; otherwise it is empty.
    """

    uri: str
    reason: str
    hint: str = ""
    needs: str = ""


@dataclass(frozen=True, slots=True)
class Root:
    """File or folder that is synced.

    Parameters
    ----------
    name:
        Last part of the path of the file or folder, with a number if another root has this name: ``notes-2``. The name
        stays the same if the root moves. The uri of a file in a folder is the name of the root and the path below the
        root: ``notes/boiler.md``. The uri of a file that is a root is its name.
    place:
        Current absolute path. A byte that is not UTF-8 is stored as a private-use character: 0x80 as U+EF80.
    follow_links:
        Whether symbolic links to targets outside of the folder are followed.
    """

    name: str
    place: str
    follow_links: bool = False

    def holds(self, path: str) -> bool:
        """Return whether an absolute path is this root's place or is below this place."""
        return path == self.place or path.startswith(self.place.rstrip("/") + "/")

    def uri(self, path: str) -> str:
        """Return the uri of an absolute path that is in this root."""
        return self.name + path[len(self.place.rstrip("/")) :]

    def path(self, uri: str) -> str:
        """Return the absolute path of a uri that begins with this root's name."""
        return (self.place.rstrip("/") + uri[len(self.name) :]) or "/"


@dataclass(frozen=True, slots=True)
class Move:
    """Root that has moved: its name, and its old and new absolute paths."""

    root: str
    old: str
    new: str


ChangeKind: TypeAlias = Literal["new", "changed", "gone", "same"]


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one file since the last sync.

    ``uri`` begins with the name of its ``root``. ``size`` (bytes) and ``modified_ns`` (nanoseconds since 1970) describe
    the file on disk. If ``kind`` is ``gone``, they are the values stored last. ``touched`` is True if the file has a
    different modification time, but the same bytes.
    """

    kind: ChangeKind
    uri: str
    root: str
    size: int
    modified_ns: int
    touched: bool = False


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a write that is not carried out yet: numbers of items that the write would process.

    - ``documents``: documents to store, or to add to the graph.
    - ``chunks``: chunks of new and changed documents that the file does not contain yet.
    - ``embeddings``: texts of chunks whose vectors are not in the memo. If the embedder may cost money, names are
      included, as far as the names are known without a call of a model.
    - ``embedding_tokens``: tokens of the texts to embed, counted by the tokenizer that cuts chunks.
    - ``extractions``: chunks that the extractor would process.
    - ``model_calls``: upper bound of the number of calls of language models.
    - ``model_tokens``: upper bound of the number of tokens that the language models read and write in these calls.
    - ``summaries``: upper bound of the number of summaries.
    - ``typical_summaries``: estimated number of summaries (docs/explanation/tree.md).
    - ``pictures``: pictures to describe. Each is one call in ``model_calls``. The tokens of the call are estimated
      from the size of the picture and the maximum length of a description.
    """

    documents: int = 0
    chunks: int = 0
    embeddings: int = 0
    embedding_tokens: int = 0
    extractions: int = 0
    model_calls: int = 0
    model_tokens: int = 0
    summaries: int = 0
    typical_summaries: int = 0
    pictures: int = 0

    def __add__(self, other: Cost) -> Cost:
        """Return the sum of two costs."""
        return Cost(*map(operator.add, astuple(self), astuple(other)))


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of a sync: the changes of files that the sync will store.

    - ``changes``: the changes, in order of uri.
    - ``problems``: sources that cannot be read.
    - ``cost``: cost of the sync; None if the cost was not computed.
    - ``roots``: the roots of the changed files, with their current places.
    - ``moved``: the roots that have moved.
    - ``seen``: uris of the files and folders that were scanned completely.
    """

    changes: tuple[Change, ...]
    problems: tuple[Problem, ...] = ()
    cost: Cost | None = None
    roots: tuple[Root, ...] = ()
    moved: tuple[Move, ...] = ()
    seen: tuple[str, ...] = ()

    def of(self, kind: ChangeKind) -> tuple[Change, ...]:
        """Return the changes of one kind, in order of uri."""
        return tuple(change for change in self.changes if change.kind == kind)


@dataclass(frozen=True, slots=True)
class Report:
    """Report of a write, such as a sync or the removal of documents: numbers of items, the duration, and the problems.

    - ``added``, ``changed``, ``removed``, ``same``: documents.
    - ``chunks_added``, ``chunks_removed``: chunks.
    - ``embedded``: texts that the embedder was called with.
    - ``reused``: texts whose vector was already in the memo.
    - ``extracted``: chunks that the extractor was called with.
    - ``fell_back``: chunks on which a model failed, so that patterns were used instead.
    - ``summarized``: new summaries.
    - ``described``: pictures that the describer was called with.
    - ``seconds``: duration of the write.
    - ``problems``: files and documents that could not be stored.
    - ``moved``: roots that have moved.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0
    same: int = 0
    chunks_added: int = 0
    chunks_removed: int = 0
    embedded: int = 0
    reused: int = 0
    extracted: int = 0
    fell_back: int = 0
    seconds: float = 0.0
    problems: tuple[Problem, ...] = ()
    summarized: int = 0
    moved: tuple[Move, ...] = ()
    described: int = 0


def combine_reports(reports: Sequence[Report]) -> Report:
    """Combine several reports into one: numbers are added, tuples are concatenated."""
    totals: dict[str, Any] = {}
    for field in fields(Report):
        values = [getattr(report, field.name) for report in reports]
        totals[field.name] = sum(values, ()) if isinstance(field.default, tuple) else sum(values)
    return Report(**totals)


@dataclass(frozen=True, slots=True)
class Exported:
    """Counts of an export to the folder ``path``.

    ``documents``, ``chunks``, ``vectors``, ``entities``, ``mentions`` and ``links`` are the numbers of exported items.
    ``size`` is in bytes, of all exported files. ``graph``: whether entities, mentions and links were exported.
    """

    path: str
    documents: int
    chunks: int
    vectors: int
    entities: int
    mentions: int
    links: int
    size: int
    graph: bool


@dataclass(frozen=True, slots=True)
class SyncedSource:
    """State of a root: counts of its stored files, the time of its last sync, and the files that failed.

    ``place`` is the root's path. ``size`` is in bytes on disk. ``synced`` is in seconds since 1970; 0 if unknown.
    """

    root: str
    place: str
    files: int
    documents: int
    size: int
    synced: float
    failures: tuple[Problem, ...]


OriginalState: TypeAlias = Literal["same", "changed", "gone", "none"]


@dataclass(frozen=True, slots=True)
class Original:
    """File on disk that a document was read from.

    Parameters
    ----------
    state:
        ``same``: unchanged since it was read. ``changed``: its content differs now. ``gone``: missing or unreadable.
        ``none``: the document does not come from a synced file.
    path, name:
        Path of the file, and the last part of that path; empty for ``none``.
    size:
        Bytes on disk now; 0 if the file is missing.
    format:
        Format that the reader detected, such as ``pdf`` or ``image``; empty if unknown.
    pages:
        Number of pages of a PDF; 0 for other formats.
    part:
        Whether the document is only a part of the file, such as a file in an archive.
    """

    state: OriginalState
    path: str = ""
    name: str = ""
    size: int = 0
    format: str = ""
    pages: int = 0
    part: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """Rectangle on a page. Its values are shares of the page's width and height, from the page's upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Boxes:
    """Rectangles that a span of a document covers on a page.

    Parameters
    ----------
    page:
        Number of the page, from 1; 0 if the document has no pages.
    found:
        Whether the words of the span were found on the page.
    boxes:
        One rectangle per line, in the order of the text; empty if the words were not found.
    """

    page: int
    found: bool
    boxes: tuple[Box, ...] = ()


WatchEventKind: TypeAlias = Literal["new", "changed", "gone", "renamed", "failed", "away", "back"]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """Event in a watched folder. A change of a file is reported after it is stored.

    ``before`` is the previous uri of a renamed file. ``reason`` and ``hint`` say why a file failed. The kind ``away``
    means that a watched folder has become inaccessible, ``back`` that it is accessible again. ``embedded`` is the
    number of texts that the whole sync embedded. It is the same for every stored change of the sync, and 0 for events
    of the kinds ``failed``, ``away`` and ``back``.
    """

    kind: WatchEventKind
    uri: str
    before: str = ""
    reason: str = ""
    hint: str = ""
    embedded: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a long operation: ``done`` of ``total`` in ``unit``, now at ``item``.

    While files are read, ``read_bytes`` and ``total_bytes`` say how many bytes have been read, and of how many.
    """

    phase: str
    done: int
    total: int
    unit: str
    item: str = ""
    read_bytes: int = 0
    total_bytes: int = 0


OnProgress: TypeAlias = Callable[[Progress], None]
"""Callback that receives progress, called in the thread that does the work. If it raises, the work stops cleanly."""
