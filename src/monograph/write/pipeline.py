"""Parts that turn documents into rows, the guard of writes through a view, and write transactions.

At the end of each write transaction, the vector indexes, the leaves of the tree and the entities are updated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby

from monograph import telemetry
from monograph import where as filters
from monograph.errors import OutsideView
from monograph.graph.names import stands_alone
from monograph.graph.resolve import LARGEST_GROUP, Candidate, heads, related
from monograph.models import Describer, Embedder, Extractor, Summarizer
from monograph.settings import Settings
from monograph.store.documents import documents
from monograph.store.documents.filters import Allowed
from monograph.store.file import view
from monograph.store.file.database import Connection, Database
from monograph.store.file.rows import is_marked
from monograph.store.graph import names
from monograph.tree.leaves import update_leaves
from monograph.values import Document, content_id
from monograph.vectors.index import EcoVectorIndex
from monograph.where import Condition
from monograph.write.batch import Prepared
from monograph.write.changes import Seen

_MOST_PAIRS = 4_096
"""Largest number of pairs of keys that are compared to find the names that a change affects.

Above it, all names of the signature are resolved again.
"""


@dataclass(frozen=True, slots=True, eq=False)
class WriteGuard:
    """Guard of writes through a view, with the view's filter as a condition and as SQL.

    A write may change only documents that are in the view.
    """

    condition: Condition
    allowed: Allowed

    def carried(self, given: Iterable[Document]) -> list[Document]:
        """Return documents with the view's values added to their metadata.

        An id that was derived from a document's content is derived again from content and values, so that two views
        can hold the same content. Raises OutsideView if the filter does not give exact values.
        """
        values = filters.exact_values(self.condition)
        results = []
        for document in given:
            name, content = document.id, (document.uri, document.title, document.text)
            if name == content_id("document", *content):
                name = content_id("document", *content, "view", *sorted(values.items()))
            results.append(replace(document, id=name, metadata={**document.metadata, **values, **document.metadata}))
        return results

    def check(self, prepared: Prepared) -> None:
        """Raise OutsideView if the metadata of a document, or of one of its chunks, differ from the view's values."""
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

    def seen(self, connection: Connection, given: Sequence[Document]) -> Seen:
        """Return the hashes of the stored documents that have the ids of given documents.

        Raises OutsideView if such a document, or a chunk with the id of a given passage, is outside of the view.
        """
        ids = [document.id for document in given]
        passages = [passage.id for document in given for passage in document.passages if passage.id]
        outside = view.outside(connection, self.allowed, ids, passages)
        if outside:
            raise OutsideView(f"the id {outside[0]!r} is taken outside of this view", "give it another id")
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

    ``indexes`` are the vector indexes of chunks and of summaries. ``summarizer`` is None in a file without a tree, and
    ``describer`` is None if pictures are not described. With ``forgets``, removed and replaced text is going to be
    erased, so no previous versions of it are kept. ``guard`` limits writes to a view.
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
        """Return a copy of the pipeline with ``forgets`` set."""
        return replace(self, forgets=forgets)


@contextmanager
def write(database: Database, indexes: Sequence[EcoVectorIndex]) -> Iterator[Connection]:
    """Open a write transaction; at its end, update the vector indexes, the leaves of the tree and the entities."""
    with telemetry.span("monograph.commit"), database.write() as connection:
        yield connection
        flush(connection, indexes)


def flush(connection: Connection, indexes: Sequence[EcoVectorIndex]) -> None:
    """Update the vector indexes, the leaves of the tree and the entities to the stored rows.

    Summaries over removed chunks are deleted here; the next update of the tree makes new ones.
    """
    if is_marked(connection, "unplanted"):
        update_leaves(connection)
    for index in indexes:
        index.flush(connection)
    resolve(connection)


def resolve(connection: Connection) -> None:
    """Update which names are merged into one entity, for the names that are marked as unresolved."""
    marked = names.unresolved(connection)
    if marked:
        cannot_link = names.cannot_link(connection)
        names.set_heads(connection, list(_find_changes(connection, marked, cannot_link)))
        # The rules can merge two names that are kept apart by way of a third name. Such a pair is separated here: the
        # name that is not the head loses its head, or, if neither is the head, the name later in the alphabet.
        for pair in sorted(pair for pair in cannot_link if pair[0] < pair[1]):
            members = names.known(connection, pair)
            if len(members) == 2 and members[pair[0]].head == members[pair[1]].head:
                leaving = pair[0] if members[pair[1]].head == members[pair[1]].row else pair[1]
                names.set_heads(connection, [(None, None, members[leaving].row)])
    names.clear_unresolved(connection)


def _find_changes(
    connection: Connection, marked: Sequence[names.Marked], cannot_link: set[tuple[str, str]]
) -> Iterator[tuple[int | None, str | None, int]]:
    """Yield the changes of heads that the marked names cause: see :func:`changes`."""
    keys = {name.key for name in marked if name.living and name.headed}
    compared = [name for name in marked if not stands_alone(name.key)]
    groups = names.signed(connection, sorted({name.signature for name in compared}))
    sizes = {}
    for signature, grouped in groupby(compared, key=lambda name: name.signature):
        marks, group = list(grouped), groups.get(signature, [])
        if len(group) > 1 or not all(name.living for name in marks):
            # Number of keys that the rules compare; only above LARGEST_GROUP must it be exact.
            small = len(group) <= LARGEST_GROUP
            sizes[signature] = len(group) if small else sum(not stands_alone(key) for key in group)
            # If the number of keys crossed LARGEST_GROUP in either direction, all of them are resolved again.
            came = sum(name.living for name in marks)
            crossed = sizes[signature] - came <= LARGEST_GROUP < sizes[signature] + len(marks) - came
            resolve_all = crossed or len(marks) * len(group) > _MOST_PAIRS
            keys.update(group if resolve_all else related((name.key for name in marks), group))
    for signature, members in names.groups(connection, keys).items():
        yield from changes(members, cannot_link, sizes.get(signature, 0))


def changes(
    group: Sequence[names.Member], cannot_link: set[tuple[str, str]], size: int = 0
) -> Iterator[tuple[int | None, str | None, int]]:
    """Yield (head, reason, row) of the names of a signature whose head or reason has changed; None for no head.

    The parameters are those of :func:`monograph.graph.resolve.heads`. The group also has names with a head, or with a
    full name that they stand for, even if no rule can merge them.
    """
    resolved = {}
    if len(group) > 1:
        candidates = [Candidate(member.row, member.key, member.subject, member.person, member.code) for member in group]
        resolved = {merge.name: (merge.head, merge.reason) for merge in heads(candidates, cannot_link, size)}
    for member in group:
        # A name that documents state to be short for exactly one full name gets that name as its head.
        if len(member.full) == 1 and member.row not in resolved and member.full[0] != member.row:
            resolved[member.row] = (member.full[0], "abbreviation")
        head, reason = resolved.get(member.row, (0, ""))
        if (head, reason) != (member.head, member.reason):
            yield head or None, reason or None, member.row
