"""What may be written through a view: documents that carry its values, and none that stand outside of it."""

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
class Fence:
    """Stands around a view.

    Parameters
    ----------
    condition:
        The view's filter.
    allowed:
        The same as SQL.
    """

    condition: Condition
    allowed: Allowed

    def carried(self, given: Iterable[Document]) -> list[Document]:
        """Documents with the view's values among their metadata.

        An id that was not given, but made from what a document says, is made from the values too: what one view holds
        is no hindrance to another.

        Raises
        ------
        OutsideView
            If the filter does not say exact values.
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
        """Check that all chunks of a document are in the view: pages, headings and the like are metadata of them too.

        Raises
        ------
        OutsideView
            If its metadata, or those of a chunk, have other values than the view.
        """
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
        """The state of documents that are about to be stored.

        Raises
        ------
        OutsideView
            If a document, or a passage, of one of their ids stands outside of the view.
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
        """Those of some documents that are in the view."""
        held = view.among(connection, self.allowed, [row.row for row in rows])
        return [row for row in rows if row.row in held]

    def among(self, connection: Connection, rows: Iterable[int]) -> set[int]:
        """Those of some documents, by row number, that are in the view."""
        return view.among(connection, self.allowed, rows)

    def chunks(self, narrowed: Allowed) -> Allowed:
        """The chunks of the view that a filter lets through."""
        return view.chunks_of(self.allowed, narrowed)


def _is(metadata: Mapping[str, object], key: str, value: Scalar) -> bool:
    return filters.matches(filters.Comparison(key, "==", value), metadata)
