"""Plans, reports and progress."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Problem:
    """One source that could not be taken in.

    ``needs`` is the module that would read it and is not installed; empty where that is not the fault.
    """

    uri: str
    reason: str
    hint: str = ""
    needs: str = ""


@dataclass(frozen=True, slots=True)
class Root:
    """A file or folder that is synced.

    Parameters
    ----------
    name:
        Its folder's, made unique in the file, and kept when it moves. The uri of what lies in it is this name, and the
        path below it: ``notes/boiler.md``.
    place:
        Where it lies now: an absolute path, as text that can be stored.
    follow_links:
        Whether what links lead to outside of its place is read.
    """

    name: str
    place: str
    follow_links: bool = False

    def holds(self, path: str) -> bool:
        """Whether a path is this root's place, or lies below it."""
        return path == self.place or path.startswith(self.place.rstrip("/") + "/")

    def uri(self, path: str) -> str:
        """The uri of a path that this root holds."""
        return self.name + path[len(self.place.rstrip("/")) :]

    def path(self, uri: str) -> str:
        """The path of a uri that begins with this root's name."""
        return (self.place.rstrip("/") + uri[len(self.name) :]) or "/"


@dataclass(frozen=True, slots=True)
class Move:
    """A root that was found in another place: its name, and the absolute paths."""

    root: str
    old: str
    new: str


ChangeKind: TypeAlias = Literal["new", "changed", "gone", "same"]


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one file since the last sync.

    ``uri`` begins with the name of its ``root``. ``size`` in bytes and ``modified_ns`` (nanoseconds since 1970) are
    those of the file on disk; of the stored state for ``gone``. ``touched`` marks a file that is the same to the byte
    under a new time of change.
    """

    kind: ChangeKind
    uri: str
    root: str
    size: int
    modified_ns: int
    touched: bool = False


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of an apply: the values it would derive.

    ``chunks`` are those of new and changed documents that the file does not hold yet, ``embeddings`` the vectors that
    the memo lacks for them (and, where the embedder may cost something, those of the names that patterns find in them),
    ``embedding_tokens`` the tokens of those texts (by the tokenizer that cuts chunks),
    ``extractions`` the chunks that the extractor would be given, ``model_calls`` and ``model_tokens`` what language
    models would be asked, and at most read and write, ``summaries`` those that would be made, at most, and
    ``typical_summaries`` as a rule (see docs/tree.md), ``pictures`` those that would be described: each is one call, of
    about as many tokens as its size and the longest answer take.
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
    """Plan of an apply: changes in order of uri, sources that cannot be read, and, when priced, the cost.

    ``roots`` are those that the changes belong to, where they lie now; ``moved`` those of them that lay elsewhere.
    ``seen`` are the uris of files and folders that were looked through as a whole.
    """

    changes: tuple[Change, ...]
    problems: tuple[Problem, ...] = ()
    cost: Cost | None = None
    roots: tuple[Root, ...] = ()
    moved: tuple[Move, ...] = ()
    seen: tuple[str, ...] = ()

    def of(self, kind: ChangeKind) -> tuple[Change, ...]:
        """The changes of one kind."""
        return tuple(change for change in self.changes if change.kind == kind)


@dataclass(frozen=True, slots=True)
class Report:
    """Report of an apply, add or remove.

    Documents ``added``, ``changed``, ``removed`` and left the ``same``; ``chunks_added`` and ``chunks_removed``;
    ``embedded`` counts texts that the embedder was given, ``remembered`` those whose vector the memo already held;
    ``extracted`` chunks that the extractor was given, ``fell_back`` those of them that a model failed on, so that
    patterns were used; ``summarized`` counts summaries that were made; ``moved`` are roots that were
    found in another place; ``described`` counts pictures that a describer was shown.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0
    same: int = 0
    chunks_added: int = 0
    chunks_removed: int = 0
    embedded: int = 0
    remembered: int = 0
    extracted: int = 0
    fell_back: int = 0
    seconds: float = 0.0
    problems: tuple[Problem, ...] = ()
    summarized: int = 0
    moved: tuple[Move, ...] = ()
    described: int = 0


def together(reports: Sequence[Report]) -> Report:
    """Several reports as one."""
    found: dict[str, Any] = {}
    for one in fields(Report):
        values = [getattr(report, one.name) for report in reports]
        found[one.name] = sum(values, ()) if isinstance(one.default, tuple) else sum(values)
    return Report(**found)


@dataclass(frozen=True, slots=True)
class Exported:
    """Counts of an export into the folder of ``path``: lines and vectors, and the ``size`` of it in bytes.

    ``graph`` says whether entities, mentions and links are among it.
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
    """A root: what is stored of it, when it was last looked through, and what failed; ``place`` is where it lies.

    ``size`` counts bytes on disk; ``synced`` is in seconds since 1970, 0 where it is not known.
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
    """The file on disk that a document was read from.

    Parameters
    ----------
    state:
        ``same`` as it was when it was read; ``changed``; ``gone``, or not to be read; ``none`` for a document that came
        from no synced file.
    path, name:
        Where it lies, and its own name; empty for ``none``.
    size:
        Bytes on disk now; 0 where it is not there.
    format:
        What the reader took it for, ``pdf`` or ``image`` say; empty where that is not known.
    pages:
        Of a PDF, else 0.
    part:
        Whether the document is only a part of it, as a file in an archive is.
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
    """A rectangle on a page, in shares of its width and height, from its upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Boxes:
    """Place of a stretch of a document on a page.

    Parameters
    ----------
    page:
        From 1; 0 where the document has no pages.
    found:
        Whether its words were found there.
    boxes:
        A line each, in the order of the text; empty where it was not found.
    """

    page: int
    found: bool
    boxes: tuple[Box, ...] = ()


WatchEventKind: TypeAlias = Literal["new", "changed", "gone", "renamed", "failed", "away", "back"]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One thing that happened in a folder that is watched, once the file holds it.

    ``before`` is the uri that a renamed file had, ``reason`` why one failed; a folder is ``away`` while it cannot be
    seen. ``embedded`` counts the texts that were embedded for all that happened at once.
    """

    kind: WatchEventKind
    uri: str
    before: str = ""
    reason: str = ""
    hint: str = ""
    embedded: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a long work: ``done`` of ``total`` in ``unit``, at ``item`` now.

    Where files are read, ``read_bytes`` of ``total_bytes`` are, too.
    """

    phase: str
    done: int
    total: int
    unit: str
    item: str = ""
    read_bytes: int = 0
    total_bytes: int = 0


OnProgress: TypeAlias = Callable[[Progress], None]
"""Told of progress from the thread that does the work; an exception raised in it stops the work cleanly."""
