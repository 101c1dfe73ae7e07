"""Parts that turn documents into rows: file, indexes, models and settings; and the guard of writes through a view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from monograph import where as filters
from monograph.errors import OutsideView
from monograph.models import Describer, Embedder, Extractor, Summarizer
from monograph.settings import Settings
from monograph.store.documents import documents
from monograph.store.documents.filters import Allowed
from monograph.store.file import view
from monograph.store.file.database import Connection, Database
from monograph.values import Document, content_id
from monograph.vectors.index import EcoVectorIndex
from monograph.where import Condition
from monograph.write.batch import Prepared
from monograph.write.changes import Seen


@dataclass(frozen=True, slots=True, eq=False)
class WriteGuard:
    """Guard of writes through a view.

    Parameters
    ----------
    condition:
        The view's filter.
    allowed:
        The same filter as SQL.
    """

    condition: Condition
    allowed: Allowed

    def carried(self, given: Iterable[Document]) -> list[Document]:
        """Return documents with the view's values added to their metadata.

        An id that was derived from a document's content is derived again from content and values, so that two views
        can hold the same content. Raises OutsideView if the filter does not give exact values.
        """
        values = filters.exact_values(self.condition)
        made = []
        for document in given:
            name, content = document.id, (document.uri, document.title, document.text)
            if name == content_id("document", *content):
                name = content_id("document", *content, "view", *sorted(values.items()))
            made.append(replace(document, id=name, metadata={**document.metadata, **values, **document.metadata}))
        return made

    def check(self, prepared: Prepared) -> None:
        """Raise OutsideView if the metadata of a document, or of one of its chunks, have other values than the view."""
        document = prepared.document
        for metadata in (document.metadata, *({**document.metadata, **one.metadata} for one in prepared.chunks)):
            if not filters.matches(self.condition, metadata):
                values = filters.exact_values(self.condition)
                own = {key: filters.Comparison(key, "==", value) for key, value in values.items()}
                key = next(key for key, one in own.items() if not filters.matches(one, metadata))
                raise OutsideView(
                    f"document {document.id!r} has {metadata[key]!r} for {key!r}, and the view has {values[key]!r}",
                    f"leave {key!r} out of its metadata: the view adds it",
                )

    def seen(self, connection: Connection, given: Sequence[Document]) -> Seen:
        """Return the hashes of the stored documents that have the ids of given documents.

        Raises OutsideView if such a document, or a chunk with the id of a given passage, is outside of the view.
        """
        ids = [one.id for one in given]
        passages = [passage.id for one in given for passage in one.passages if passage.id]
        taken = view.outside(connection, self.allowed, ids)
        taken += view.chunks_outside(connection, self.allowed, passages)
        if taken:
            raise OutsideView(f"the id {taken[0]!r} is taken outside of this view", "give it another id")
        rows = documents.of_ids(connection, ids)
        return Seen({name: rows[name].sha256 if name in rows else None for name in ids})

    def among(self, connection: Connection, rows: Iterable[int]) -> set[int]:
        """Return the given row numbers of documents that are in the view."""
        return view.among(connection, self.allowed, rows)

    def chunks(self, narrowed: Allowed) -> Allowed:
        """Return the filter of the chunks that are in the view and match a filter."""
        return view.chunks_of(self.allowed, narrowed)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Parts that turn documents into rows: the file, its vector indexes, the models and the settings.

    ``summaries`` is the index of the summaries' vectors; ``summarizer`` is None in a file without a tree;
    ``describer`` where pictures are not described. ``forgets`` says whether what is taken out or replaced is to leave
    no trace, so that no former version is kept of it. ``guard`` limits writes to a view.
    """

    database: Database
    index: EcoVectorIndex
    summaries: EcoVectorIndex
    embedder: Embedder
    extractor: Extractor
    summarizer: Summarizer | None
    settings: Settings
    describer: Describer | None = None
    forgets: bool = False
    guard: WriteGuard | None = None

    @property
    def indexes(self) -> tuple[EcoVectorIndex, EcoVectorIndex]:
        """The vector indexes of chunks and of summaries."""
        return self.index, self.summaries

    def forgetting(self, forgets: bool) -> Pipeline:
        """Return a pipeline that forgets what it removes or replaces, or one that does not."""
        return replace(self, forgets=forgets)
