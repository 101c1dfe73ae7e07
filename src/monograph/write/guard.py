"""Guard of writes through a view: documents get its values, and no document outside of it changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from monograph import where as filters
from monograph.errors import OutsideView
from monograph.store.documents import documents
from monograph.store.documents.filters import Allowed
from monograph.store.file import view
from monograph.store.file.database import Connection
from monograph.values import Document, content_id
from monograph.where import Condition, Scalar
from monograph.write.changes import Seen
from monograph.write.prepare import Prepared


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
        return [self._with(document, values) for document in given]

    def _with(self, document: Document, values: Mapping[str, Scalar]) -> Document:
        name = document.id
        if name == content_id("document", document.uri, document.title, document.text):
            said = sorted(values.items())
            name = content_id("document", document.uri, document.title, document.text, "view", *said)
        return replace(document, id=name, metadata={**document.metadata, **values, **document.metadata})

    def check(self, prepared: Prepared) -> None:
        """Raise OutsideView if the metadata of a document, or of one of its chunks, have other values than the view."""
        document = prepared.document
        for metadata in (document.metadata, *({**document.metadata, **one.metadata} for one in prepared.chunks)):
            if not filters.matches(self.condition, metadata):
                values = filters.exact_values(self.condition)
                key = next(key for key, value in values.items() if not _is(metadata, key, value))
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

    def inside(self, connection: Connection, rows: Sequence[documents.DocumentRow]) -> list[documents.DocumentRow]:
        """Return the given documents that are in the view."""
        held = view.among(connection, self.allowed, [row.row for row in rows])
        return [row for row in rows if row.row in held]

    def among(self, connection: Connection, rows: Iterable[int]) -> set[int]:
        """Return the given row numbers of documents that are in the view."""
        return view.among(connection, self.allowed, rows)

    def chunks(self, narrowed: Allowed) -> Allowed:
        """Return the filter of the chunks that are in the view and match a filter."""
        return view.chunks_of(self.allowed, narrowed)


def _is(metadata: Mapping[str, object], key: str, value: Scalar) -> bool:
    return filters.matches(filters.Comparison(key, "==", value), metadata)
