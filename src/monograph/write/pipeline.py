"""Pipeline of a file (its indexes, models and settings), guard of writes through a view, and write transactions.

At the end of each write transaction, the vector indexes, the leaves of the tree and the entities are updated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from monograph import telemetry
from monograph import where as filters
from monograph.errors import OutsideView
from monograph.graph.heads import update_heads
from monograph.models import Describer, Embedder, Extractor, Summarizer
from monograph.settings import Settings
from monograph.store.documents import documents
from monograph.store.documents.filters import CompiledFilter
from monograph.store.file import view
from monograph.store.file.database import Connection, Database
from monograph.store.file.rows import is_marked
from monograph.tree.leaves import update_leaves
from monograph.values import Document, content_id
from monograph.vectors.index import EcoVectorIndex
from monograph.where import Condition
from monograph.write.batch import PreparedDocument
from monograph.write.changes import ReadState


@dataclass(frozen=True, slots=True, eq=False)
class WriteGuard:
    """Guard of writes through a view. A write may change only documents that are in the view.

    ``condition`` and ``allowed`` are the view's filter, as a condition and as SQL.
    """

    condition: Condition
    allowed: CompiledFilter

    def add_values(self, given: Iterable[Document]) -> list[Document]:
        """Return documents whose metadata also have the values that the view's filter requires.

        For example, a view with the filter ``{"collection": "notes"}`` adds the value "notes" of the key "collection".
        If a document already has a value of the key, that value is kept. An id that was derived from a document's
        content is derived again, from the content and the required values. So two views can hold the same content.
        Raises OutsideView if the filter does not require one exact value of each key.
        """
        values = filters.exact_values(self.condition)
        results = []
        for document in given:
            name, content = document.id, (document.uri, document.title, document.text)
            if name == content_id("document", *content):
                name = content_id("document", *content, "view", *sorted(values.items()))
            results.append(replace(document, id=name, metadata={**document.metadata, **values, **document.metadata}))
        return results

    def check(self, prepared: PreparedDocument) -> None:
        """Raise OutsideView if the metadata of a document, or of one of its chunks, do not match the view's filter."""
        document = prepared.document
        for metadata in (document.metadata, *({**document.metadata, **chunk.metadata} for chunk in prepared.chunks)):
            if not filters.matches(self.condition, metadata):
                values = filters.exact_values(self.condition)
                own = {key: filters.Comparison(key, "==", value) for key, value in values.items()}
                key = next(key for key, comparison in own.items() if not filters.matches(comparison, metadata))
                raise OutsideView(
                    f"document {document.id!r} has {metadata[key]!r} for {key!r}, and the view has {values[key]!r}",
                    f"leave {key!r} out of its metadata: the view adds it",
                )

    def seen(self, connection: Connection, given: Sequence[Document]) -> ReadState:
        """Return the hash of the stored document for the id of each given document; None for an id that is not stored.

        Raises OutsideView if one of these stored documents is outside of the view. Also raises OutsideView if a stored
        chunk outside of the view has the id of a given passage.
        """
        ids = [document.id for document in given]
        passages = [passage.id for document in given for passage in document.passages if passage.id]
        outside = view.outside(connection, self.allowed, ids, passages)
        if outside:
            raise OutsideView(f"the id {outside[0]!r} is taken outside of this view", "give it another id")
        rows = documents.of_ids(connection, ids)
        return ReadState({name: rows[name].sha256 if name in rows else None for name in ids})

    def among(self, connection: Connection, rows: Iterable[int]) -> set[int]:
        """Return those of the given row numbers of documents that are in the view, as a set."""
        return view.among(connection, self.allowed, rows)

    def chunks(self, narrowed: CompiledFilter) -> CompiledFilter:
        """Return the filter for chunks that are in the view and match the filter ``narrowed``."""
        return view.chunks_of(self.allowed, narrowed)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Parts that turn documents into rows: the file, its vector indexes, the models and the settings.

    ``indexes`` are the vector indexes of chunks and of summaries. ``summarizer`` is None in a file without a tree, and
    ``describer`` is None if pictures are not described. If ``forgets`` is True, removed and replaced text will be
    erased, so no previous versions of it are kept. ``guard`` limits writes to a view; None without a view.
    """

    database: Database
    indexes: tuple[EcoVectorIndex, EcoVectorIndex]
    embedder: Embedder
    extractor: Extractor
    summarizer: Summarizer | None
    settings: Settings
    describer: Describer | None = None
    forgets: bool = False
    guard: WriteGuard | None = None

    def forgetting(self, forgets: bool) -> Pipeline:
        """Return a copy of the pipeline in which ``forgets`` has this value."""
        return replace(self, forgets=forgets)


@contextmanager
def write(database: Database, indexes: Sequence[EcoVectorIndex]) -> Iterator[Connection]:
    """Open a write transaction. At its end, the vector indexes, the leaves of the tree and the entities are updated."""
    with telemetry.span("monograph.commit"), database.write() as connection:
        yield connection
        flush(connection, indexes)


def flush(connection: Connection, indexes: Sequence[EcoVectorIndex]) -> None:
    """Update the vector indexes, the leaves of the tree and the entities, so that they match the stored rows.

    A summary is deleted if a chunk that it covers, directly or through other summaries, was removed or has changed. The
    next update of the tree makes new summaries.
    """
    if is_marked(connection, "dirty_leaves"):
        update_leaves(connection)
    for index in indexes:
        index.flush(connection)
    update_heads(connection)
