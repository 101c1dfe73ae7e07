"""A batch is written table by table; the rows are those that its parcels would have left one after the other."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph, Passage, Settings
from monograph.errors import InvalidDocument
from monograph.models import Embedder
from monograph.store.documents import documents as documents_rows
from monograph.store.documents import sources
from monograph.store.documents.sources import SourceRow
from monograph.store.file.database import Connection
from monograph.values import Root
from monograph.write import apply, changes, graph, writer
from monograph.write.batch import Parcel, PreparedDocument, document_hash, prepare
from monograph.write.changes import PreparedParcel, Tally
from monograph.write.pipeline import Pipeline
from support.contents import contents
from support.drawn_documents import DIMENSION, documents
from support.models import HashEmbedder
from support.properties import examples

FILES = ("f0", "f1")


class Paid(HashEmbedder):
    """One that must be asked as seldom as can be."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Parcels that are stored together, and what another writer does after they were prepared."""

    parcels: tuple[Parcel, ...]
    meanwhile: tuple[Document, ...] = ()
    compacted: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """Batches, one after the other, into a file that vectors cost something in, or not."""

    batches: tuple[Batch, ...]
    paid: bool


def parcel(given: Sequence[Document], file: str | None, state: int = 0, **more: Any) -> Parcel:
    """Documents of a file, or of none."""
    if file is None:
        return Parcel(None, tuple(given), **more)
    uri = f"folder/{file}"
    source = SourceRow(uri, "folder", bytes([state]) * 32, 10, 1_000 + state)
    of_file = (replace(one, text="" if one.passages else one.text, uri=f"{uri}!/{one.id}") for one in given)
    return Parcel(source, tuple(of_file), **more)


@st.composite
def entangled(draw: st.DrawFn) -> History:
    """Batches whose documents are alike, known, changed, twice in them, refused, or taken from each other."""
    paid = draw(st.booleans())
    some = documents(st.sampled_from([f"d{place}" for place in range(7)]), own=False, with_vectors=paid)
    parcels = st.builds(
        parcel,
        st.lists(some, min_size=1, max_size=3),
        st.none() | st.sampled_from(FILES),
        st.integers(0, 2),
        before=st.just(frozenset()) | st.frozensets(st.sampled_from(["d0", "d1", "d2"])),
        last=st.booleans(),
        broken=st.booleans(),
    )
    meanwhile = st.just(()) | st.lists(some, min_size=1, max_size=2).map(tuple)
    batch = st.builds(Batch, st.lists(parcels, min_size=1, max_size=5).map(tuple), meanwhile, st.booleans())
    return History(tuple(draw(st.lists(batch, min_size=1, max_size=3))), paid)


@st.composite
def apart(draw: st.DrawFn) -> tuple[History, History]:
    """The same documents, each its own, in two groupings; known ones change, or stay."""
    paid = draw(st.booleans())
    names = [f"d{place}" for place in range(draw(st.integers(1, 9)))]
    rounds = []
    for _ in range(draw(st.integers(1, 3))):
        some = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        made = [draw(documents(st.just(name), own=True, with_vectors=paid)) for name in some]
        rounds.append([parcel([one], one.id if one.id in ("d1", "d3") else None) for one in made])
    whole = tuple(Batch(tuple(some)) for some in rounds)
    cut = []
    for parcels in rounds:
        size = draw(st.sampled_from([1, 1, 2, 3]))
        cut += [Batch(tuple(parcels[first : first + size])) for first in range(0, len(parcels), size)]
    return History(whole, paid), History(tuple(cut), paid)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """Files without documents, to be copied, by whether vectors cost something."""
    folder = tmp_path_factory.mktemp("empty")
    made = {paid: folder / f"{paid}.mono" for paid in (False, True)}
    for paid, path in made.items():
        chosen = Settings(chunk_tokens=16, chunk_overlap=0)
        with Monograph.open(path, embedder(paid), settings=chosen) as monograph:
            monograph.add([])
            with monograph._file.database.write() as connection:
                sources.put_root(connection, Root("folder", str(folder / "folder")))
    return made


def embedder(paid: bool) -> Embedder | None:
    return Paid(DIMENSION) if paid else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Rows by table, tallies, and the texts that were embedded, after the batches of a history."""

    rows: dict[str, list[tuple[object, ...]]]
    numbered: dict[str, list[tuple[object, ...]]]
    tallies: list[Tally]
    texts: list[str]


def run(path: Path, history: History) -> Outcome:
    """Store the batches of a history, and check the file."""
    chosen = embedder(history.paid)
    tallies = []
    with Monograph.open(path, chosen) as monograph, Monograph.open(path, embedder(history.paid)) as other:
        for batch in history.batches:
            with meanwhile(other, batch):
                tallies.append(apply.store(monograph._file.writing_pipeline(), batch.parcels, strict=False))
        assert monograph.check() == []
        with monograph._file.database.read() as connection:
            rows, numbered = contents(connection), as_numbered(connection)
        return Outcome(rows, numbered, tallies, chosen.texts if isinstance(chosen, Paid) else [])


@contextmanager
def meanwhile(other: Monograph, batch: Batch) -> Iterator[None]:
    """Let another writer do its work once all of a batch is made, and nothing of it stored."""
    real = graph.derive_graph
    done = False

    def derive_graph(*given: Any) -> graph.DerivedValues:
        nonlocal done
        found = real(*given)
        if not done:
            done = True
            for document in batch.meanwhile:
                with suppress(InvalidDocument):
                    other.add([document])
            if batch.compacted:
                other.compact()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apply, "derive_graph", derive_graph)
        yield


NUMBERED = ("memo", "placements", "clusters", "parts", "centroids", "cluster_graphs", "cannot_link")
"""Tables whose row numbers hang on nothing that may be done in another order."""


def as_numbered(connection: Connection) -> dict[str, list[tuple[object, ...]]]:
    found = {table: sorted(connection.execute(f"SELECT * FROM {table}"), key=repr) for table in NUMBERED}
    # A name that nothing uses any more keeps the head that it had last.
    heads = connection.execute("SELECT n.key, h.key, n.reason FROM names AS n JOIN names AS h ON h.name = n.head")
    return found | {"heads": sorted(heads)}


def one_by_one(
    connection: Connection, pipeline: Pipeline, batch: Sequence[PreparedParcel], *given: Any, strict: bool
) -> Tally:
    """Store a batch parcel by parcel, each as if it were a batch of its own."""
    tally = Tally()
    for one in batch:
        tally.include(store_together(connection, pipeline, [one], *given, strict=strict))
    return tally


store_together = writer.store


def compare_groupings(empty: dict[bool, Path], folder: Path, histories: tuple[History, History]) -> None:
    whole, cut = (
        run(Path(shutil.copy(empty[history.paid], folder / f"{place}.mono")), history)
        for place, history in enumerate(histories)
    )
    assert whole.rows == cut.rows
    assert sorted(whole.texts) == sorted(cut.texts)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@settings(max_examples=examples(60))
@given(history=entangled())
def test_rows_equal_those_of_parcels_stored_one_by_one(
    empty: dict[bool, Path], tmp_path_factory: pytest.TempPathFactory, history: History
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    here = run(Path(shutil.copy(empty[history.paid], folder / "together.mono")), history)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "store", one_by_one)
        alone = run(Path(shutil.copy(empty[history.paid], folder / "alone.mono")), history)
    assert here == alone


@pytest.mark.long
@pytest.mark.timeout(1_800)
@settings(max_examples=examples(60))
@given(histories=apart())
def test_rows_do_not_depend_on_batches(
    empty: dict[bool, Path], tmp_path_factory: pytest.TempPathFactory, histories: tuple[History, History]
) -> None:
    compare_groupings(empty, tmp_path_factory.mktemp("rows"), histories)


@pytest.mark.parametrize("paid", [False, True])
@pytest.mark.parametrize(
    "later",
    [
        Document("It was paid.", id="later", title="INV-2031"),
        Document("Invoice Number 2031 (INV-2031) is new. Anna Calder paid it.", id="later", title="Calder"),
    ],
)
def test_known_name_gets_its_missing_embedding(
    empty: dict[bool, Path], tmp_path: Path, later: Document, *, paid: bool
) -> None:
    first = parcel([Document("the bill INV-2031 was paid by A. Calder", id="first")], None)
    second = parcel([later], None)
    whole, cut = History((Batch((first, second)),), paid), History((Batch((first,)), Batch((second,))), paid)
    compare_groupings(empty, tmp_path, (whole, cut))
    found = run(Path(shutil.copy(empty[paid], tmp_path / "x.mono")), cut)
    codes = {name: code for name, _, code, *_ in found.rows["names"]}
    assert (codes["inv 2031"] is not None) == (later.title == "INV-2031")


def ready(*given: Document, file: str | None = None, **more: Any) -> PreparedParcel:
    """Documents of a file, prepared."""
    chosen = parcel(given, file, **more)
    work = [(document, document_hash(document, Settings())) for document in chosen.documents]
    results = prepare(work, HashEmbedder(DIMENSION), Settings())
    return PreparedParcel(chosen, tuple(result for result in results if isinstance(result, PreparedDocument)), ())


def stored(row: int, one: Document, *chunks: str, file: str | None = None) -> changes.StoredDocument:
    """A stored document whose chunks, each of four characters, have these ids."""
    document = documents_rows.DocumentRow(row, one.id, None, one.uri, one.title, b"", len(one.text))
    spans = {name: (10 * row + place, 4 * place, 4 * place + 4) for place, name in enumerate(chunks)}
    return changes.StoredDocument(document, file, spans, one.text)


def test_later_document_of_an_id_wins() -> None:
    batch = [ready(Document("first", id="a")), ready(Document("second", id="a"))]
    found = changes.decide(batch, changes.State({}, {}, frozenset()))
    assert [one.prepared.document.text for one in found.insert] == ["second"]
    assert (found.replace, found.remove, found.refuse) == ((), (), ())
    assert (found.tally.added, found.tally.changed) == (1, 1)


def test_chunk_passes_from_one_document_to_another() -> None:
    state = changes.State(
        {"a": stored(1, Document("onetwo!!", id="a"), "p1", "p2")}, {"p1": "a", "p2": "a"}, frozenset()
    )
    gives = Document(id="a", passages=(Passage("onet", id="p1"),))
    takes = Document(id="b", passages=(Passage("wo!!", id="p2"),))
    found = changes.decide([ready(gives), ready(takes)], state)
    assert [one.prepared.document.id for one in found.replace] == ["a"]
    assert [one.prepared.document.id for one in found.insert] == ["b"]
    assert (found.tally.chunks_added, found.tally.chunks_removed) == (1, 1)
    other = changes.decide([ready(takes), ready(gives)], state)
    assert other.insert == ()
    assert [str(one.message) for one in other.refuse] == ["chunk 'p2' of document 'b' belongs to another document"]
    assert [one.prepared.document.id for one in other.replace] == ["a"]


def test_document_left_out_by_its_file_is_removed() -> None:
    old = stored(1, Document("text", id="old"), "c", file="folder/f")
    state = changes.State({"old": old}, {}, frozenset())
    new = Document("another", id="new")
    found = changes.decide([ready(new, file="f")], state)
    assert (found.remove, found.tally.removed, found.tally.chunks_removed) == ((old,), 1, 1)
    for more in ({"last": False}, {"broken": True}, {"before": frozenset({"old"})}):
        assert changes.decide([ready(new, file="f", **more)], state).remove == ()
    (file,) = changes.decide([ready(new, file="f", broken=True)], state).files
    assert file.faulty
