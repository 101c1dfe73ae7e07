"""A part of the list of documents, and what is quickly told of a file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest

from monograph import Document, Monograph
from monograph.derive.loading import load_summarizer
from monograph.errors import DamagedFile, InputError
from support import raw_sql

NAMES = ("b/2", "a/Ähre", "a/ÄHRE", "c", "b/10", "a/😀")


def test_listed_returns_a_slice_of_matching_documents(monograph: Monograph) -> None:
    monograph.add(
        Document(f"Text {n}.", id=f"id{n % 7}-{n}", uri=uri, title=f"T{n}") for n, uri in enumerate(NAMES * 3)
    )
    whole = monograph.documents()
    for like in ("", "ähre", "T1", "id3", "nothing"):
        wanted = [one for one in whole if like.casefold() in f"{one.title}\0{one.uri}\0{one.id}".casefold()]
        for start, limit in ((0, 100), (0, 0), (3, 4), (17, 5), (40, 5)):
            found = monograph.listed(like, start, limit)
            assert (found.count, found.start) == (len(wanted), start)
            assert list(found.documents) == wanted[start : start + limit]
    with pytest.raises(InputError):
        monograph.listed(start=-1)
    assert monograph.brief().documents == len(whole) == 18
    assert monograph.brief().format == monograph.stats().format
    assert not monograph.brief().has_tree
    before = monograph.generation()
    monograph.tree.rebuild(load_summarizer("extractive"))
    assert monograph.brief().has_tree
    assert monograph.generation() > before


def test_listing_a_damaged_document_raises_and_names_its_table(monograph: Monograph) -> None:
    monograph.add(Document(f"Text {n}.", id=f"{n}", uri=f"{n}") for n in range(3))
    with closing(raw_sql.connected(monograph.path)) as connection, connection:
        connection.execute("UPDATE documents SET title = CAST(x'ff' AS TEXT) WHERE id = '1'")
    reads: tuple[Callable[[], object], ...] = (
        lambda: monograph.listed(limit=10),
        monograph.documents,
        monograph.fetch,
        lambda: monograph.search("Text 1"),
    )
    for read in reads:
        with pytest.raises(DamagedFile, match=r"row 2 of documents") as caught:
            read()
        assert f"monograph check {monograph.path}" in str(caught.value)
    assert [one.id for one in monograph.listed(limit=1).documents] == ["0"]
