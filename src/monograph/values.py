"""The frozen values that travel between modules.

Offsets count Unicode code points of the document's text, as Python's slices do. Wherever a
value has ``start`` and ``end``, ``document.text[start:end]`` is its text, always.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from monograph.errors import InvalidDocument
from monograph.models import Float32

Metadata: TypeAlias = Mapping[str, Any]
"""A JSON object: its values are str, int, float, bool, None, or lists and objects of these."""


def content_hash(*parts: object) -> bytes:
    """SHA-256 of JSON-like parts, the root of every id and memo key.

    Parts are written as canonical JSON (sorted keys, no spaces), so that ``("ab", "c")`` and
    ``("a", "bc")`` differ and the same parts give the same hash on every machine.

    Returns
    -------
    32 bytes.
    """
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def content_id(*parts: object) -> str:
    """The first 128 bits of :func:`content_hash` as 32 hexadecimal digits."""
    return content_hash(*parts)[:16].hex()


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a document that begins at ``start`` and lies under the headings of ``path``."""

    start: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A piece of a document that comes ready-made, as frameworks hand it over.

    Parameters
    ----------
    text:
        Not empty.
    id:
        Kept as given; made from the content when empty.
    metadata:
        Laid over the document's own for filters and hits.
    vector:
        float32 of shape (dimension,), or None to have it embedded.
    """

    text: str
    id: str = ""
    metadata: Metadata = field(default_factory=dict)
    vector: Float32 | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A source's text.

    Parameters
    ----------
    text:
        The whole text. Left empty when ``passages`` are given: it is then the passages, joined by blank lines.
    id:
        Opaque; kept as given, made from uri and content when empty.
    title:
        Searched and embedded together with each chunk.
    uri:
        Where it came from: a path, a URL, or nothing.
    metadata:
        A JSON object.
    sections:
        Headings by offset, ascending.
    passages:
        Ready-made chunks; when given, the text is not cut anew.

    Raises
    ------
    InvalidDocument
        If metadata is not a JSON object, a text holds half a surrogate pair, or both a text and passages are given.
    """

    text: str = ""
    id: str = ""
    title: str = ""
    uri: str = ""
    metadata: Metadata = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    passages: tuple[Passage, ...] = ()

    def __post_init__(self) -> None:
        name = self.id or self.uri or self.title or self.text[:40]
        if self.passages:
            joined = PASSAGE_SEPARATOR.join(passage.text for passage in self.passages)
            if self.text not in ("", joined):
                raise InvalidDocument(
                    f"document {name!r} has a text and passages of another text",
                    "give either text or passages",
                )
            object.__setattr__(self, "text", joined)
        for text in (self.text, self.id, self.title, self.uri, *(passage.id for passage in self.passages)):
            _check_unicode(text, f"document {name!r}")
        check_json(self.metadata, f"document {name!r}")
        for passage in self.passages:
            check_json(passage.metadata, f"passage {passage.id or passage.text[:40]!r}")
        if not self.id:
            object.__setattr__(self, "id", content_id("document", self.uri, self.title, self.text))


PASSAGE_SEPARATOR = "\n\n"
"""What stands between two ready-made passages in the text of their document."""


def _check_unicode(text: str, owner: str) -> None:
    """Raise InvalidDocument where a text holds half a surrogate pair, which no file can store."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidDocument(
            f"{owner} holds half a surrogate pair at character {error.start}", "decode it with errors='replace'"
        ) from error


def check_json(metadata: Metadata, owner: str) -> None:
    """Raise InvalidDocument unless metadata is a JSON object with text keys and finite numbers."""
    try:
        json.dumps(metadata, allow_nan=False, ensure_ascii=False).encode("utf-8")
        text_keys = all(isinstance(key, str) for key in metadata)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidDocument(
            f"the metadata of {owner} is not JSON: {error}",
            "use text, finite numbers, true, false, null, lists and objects",
        ) from error
    if not text_keys:
        raise InvalidDocument(f"the metadata of {owner} has a key that is not text", "name every key by a text")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: ``document.text[start:end] == text``.

    ``id`` is hash(document id, text, occurrence), so that a shift inside the document does not change it; a
    ready-made passage keeps the id it came with. ``ordinal`` counts from 0 in reading order. ``metadata`` is the
    chunk's own (its ``section``, say), without the document's.
    """

    id: str
    document_id: str
    text: str
    start: int
    end: int
    ordinal: int
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Effort:
    """What a search of the vector index took.

    Parameters
    ----------
    loads:
        Clusters that were read.
    compared:
        Vectors that the query was compared with.
    stopped:
        Why it ended: ``"enough"`` (by its stop condition), ``"all"`` (no cluster was left) or ``"exact"`` (few vectors
        were allowed, and all of those were compared).
    """

    loads: int
    compared: int
    stopped: str


@dataclass(frozen=True, slots=True)
class Origin:
    """How one retriever found a hit: its rank there (from 0) and its absolute score there.

    Scores by retriever: ``dense`` is the cosine in [-1, 1]; ``lexical`` is BM25, above 0; ``exact`` and ``phrase``
    are the share, in (0, 1], of the query's codes and quoted phrases that stand in the chunk word for word; ``tfidf``
    is RAGdb's hybrid score. ``effort`` says what the search took, for ``dense``.
    """

    retriever: str
    rank: int
    score: float
    effort: Effort | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that was found, and how.

    ``score`` is what the hits are ordered by, highest first. In the modes ``lexical`` and ``dense`` it is that
    retriever's own absolute score; in ``hybrid`` it is the fused score (see :mod:`monograph.retrieve.fuse`), and
    ``origins`` has the absolute ones. ``metadata`` is the document's with the chunk's own laid over it.
    """

    chunk: Chunk
    score: float
    rank: int
    title: str
    uri: str
    metadata: Metadata
    origins: tuple[Origin, ...]

    def explain(self) -> str:
        """One line: which retriever found it, at which rank, with what score."""
        found = ", ".join(f"{o.retriever} #{o.rank + 1} ({o.score:.3f})" for o in self.origins)
        return f"{self.score:.3f} = {found}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One source that could not be taken in: a line of the report."""

    uri: str
    reason: str
    mend: str = ""


Mode: TypeAlias = Literal["auto", "lexical", "tfidf", "dense", "hybrid"]
"""How to search: see :meth:`monograph.Monograph.search`."""

ChangeKind: TypeAlias = Literal["new", "changed", "gone", "same"]


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one file since the last sync.

    ``size`` in bytes and ``modified_ns`` (nanoseconds since 1970) are those of the file on disk; of the stored state
    for ``gone``. ``touched`` marks a file that is the same to the byte under a new time of change.
    """

    kind: ChangeKind
    uri: str
    root: str
    size: int
    modified_ns: int
    touched: bool = False


@dataclass(frozen=True, slots=True)
class Cost:
    """What an apply would derive.

    ``chunks`` are those of new and changed documents that the file does not hold yet, ``embeddings`` the vectors that
    the memo lacks for them, ``embedding_tokens`` the tokens of those texts (by the tokenizer that cuts chunks),
    ``model_calls`` and ``model_tokens`` what language models would be asked.
    """

    documents: int = 0
    chunks: int = 0
    embeddings: int = 0
    embedding_tokens: int = 0
    model_calls: int = 0
    model_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What an apply would do: changes in order of uri, sources that cannot be read, and, when priced, the cost."""

    changes: tuple[Change, ...]
    problems: tuple[Problem, ...] = ()
    cost: Cost | None = None

    def of(self, kind: ChangeKind) -> tuple[Change, ...]:
        """The changes of one kind."""
        return tuple(change for change in self.changes if change.kind == kind)


@dataclass(frozen=True, slots=True)
class Report:
    """What an apply, add or remove did.

    Documents ``added``, ``changed``, ``removed`` and left the ``same``; ``chunks_added`` and ``chunks_removed``;
    ``embedded`` counts texts that the embedder was given, ``remembered`` those whose vector the memo already held.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0
    same: int = 0
    chunks_added: int = 0
    chunks_removed: int = 0
    embedded: int = 0
    remembered: int = 0
    seconds: float = 0.0
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long work has come: ``done`` of ``total`` in ``unit``, at ``item`` now."""

    phase: str
    done: int
    total: int
    unit: str
    item: str = ""


Watcher: TypeAlias = Callable[[Progress], None]
"""Told of progress from the thread that does the work; an exception raised in it stops the work cleanly."""


@dataclass(frozen=True, slots=True)
class IndexStats:
    """What the vector index is like.

    Parameters
    ----------
    vectors:
        Different vectors that can be found.
    clusters:
        Clusters, each a row of the file with its centroid in memory.
    entries:
        What the clusters hold: about two a vector.
    dead:
        Deleted entries that still take room, until the next fold.
    memory:
        Bytes held in memory for searches: centroids, their graph, clusters in the cache.
    expected_memory:
        Bytes that a search should hold, by the cost model: see :func:`monograph.vectors.cost.memory`.
    expected_loads:
        Clusters read a query (k = 10), on average, to reach ``target_recall``, as calibrated; None where every cluster
        is searched, as in a file of few vectors.
    target_recall:
        Share of the nearest that a search finds on average.
    """

    vectors: int
    clusters: int
    entries: int
    dead: int
    memory: int
    expected_memory: int
    expected_loads: float | None
    target_recall: float


@dataclass(frozen=True, slots=True)
class Stats:
    """What a file holds and weighs. Sizes in bytes; ``tables`` by name, largest first."""

    path: str
    format: int
    documents: int
    sources: int
    chunks: int
    vectors: int
    memo: int
    memo_unused: int
    terms: int
    characters: int
    file_bytes: int
    tables: tuple[tuple[str, int], ...]
    embedder: str
    embedder_spec: str
    dimension: int
    chunk_tokens: int
    chunk_overlap: int
    index: IndexStats


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault that a check found: in which table, what, and whether a repair can mend it."""

    table: str
    fault: str
    repairable: bool
