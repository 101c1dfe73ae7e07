"""Derived values are computed once, stored as they arrive, and kept when a model fails."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from monograph import Monograph
from monograph.derive import derivation
from monograph.derive.derivation import Derivation, MissingValue, Packed, retry
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.errors import BusyFile, InvalidDocument, ModelUnavailable
from monograph.store.file import memo
from monograph.store.file.database import Database
from monograph.values import Cost, Float32, SummaryText
from support.models import HashEmbedder


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Monograph.open(tmp_path / "x.mono", HashEmbedder(8)) as monograph:
        yield monograph._file.database


def upper(log: list[str], *, fails_at: str = "", at_once: int = 3, is_quick: bool = False) -> Derivation[str]:
    """Return a derivation of upper-case texts: one value at a time, logged in ``log``, with a failure at one input."""

    def make(wanted: Mapping[bytes, str]) -> Iterator[Sequence[Packed]]:
        for key, text in wanted.items():
            if text == fails_at:
                raise ModelUnavailable("no answer")
            log.append(text)
            yield [(key, text.upper().encode(), 1)]

    return Derivation("upper", str.encode, make, lambda some: Cost(model_calls=len(some)), at_once, is_quick)


def stored(database: Database) -> dict[bytes, bytes]:
    with database.read() as connection:
        return dict(connection.execute("SELECT key, value FROM memo WHERE kind = 'upper'"))


def test_values_are_made_once_and_stored_in_groups(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivation, "PATIENCE", float("inf"))
    log: list[str] = []
    told: list[tuple[int, int]] = []
    one = upper(log)
    made = one.derive_missing(
        database, one.keyed("abcdefg"), on_stored=lambda done: told.append((done, len(stored(database))))
    )
    assert [key for key, _, _ in made] == [b"a", b"b", b"c", b"d", b"e", b"f", b"g"]
    assert told == [(3, 3), (6, 6), (7, 7)]
    assert [key for key, _, _ in one.derive_missing(database, one.keyed("ghgh"))] == [b"h"]
    assert log == list("abcdefgh")


def test_slow_values_are_stored_before_their_group_is_full(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivation, "PATIENCE", 0.0)
    counts: list[int] = []
    one = upper([])
    one.derive_missing(database, one.keyed("abc"), on_stored=counts.append)
    assert counts == [1, 2, 3]


def test_values_made_before_an_error_are_stored(database: Database) -> None:
    log: list[str] = []
    one = upper(log, fails_at="c", at_once=100)
    with pytest.raises(ModelUnavailable):
        one.derive_missing(database, one.keyed("abcd"))
    assert stored(database) == {b"a": b"A", b"b": b"B"}
    upper(log).derive_missing(database, one.keyed("abcd"))
    assert log == list("abcd")


def test_quick_values_wait_for_the_transaction_that_needs_them(database: Database) -> None:
    log: list[str] = []
    waiting: dict[bytes, bytes] = {}
    one = upper(log, is_quick=True)
    assert len(one.derive_missing(database, one.keyed("abc"), waiting, {b"a": b"made elsewhere"})) == 3
    assert one.derive_missing(database, one.keyed("abc"), waiting) == []
    assert (log, stored(database)) == (["b", "c"], {})
    with database.write() as connection:
        rows = one.rows(connection, [b"a", b"c", b"a"], waiting)
        assert one.rows(connection, [b"c", b"a"]) == rows
        with pytest.raises(MissingValue):
            one.rows(connection, [b"b"])
    assert stored(database) == {b"a": b"made elsewhere", b"c": b"C"}


def test_price_counts_each_missing_value_once_and_makes_none(database: Database) -> None:
    log: list[str] = []
    one = upper(log)
    one.derive_missing(database, one.keyed("ab"))
    priced: set[bytes] = set()
    with database.read() as connection:
        assert one.price_missing(connection, one.keyed("abcd"), priced) == Cost(model_calls=2)
        assert one.price_missing(connection, one.keyed("cde"), priced) == Cost(model_calls=1)
    assert log == ["a", "b"]


def test_work_is_retried_while_the_memo_is_emptied(database: Database) -> None:
    tries: list[int] = []

    def work() -> int:
        tries.append(0)
        if len(tries) < 3:
            raise MissingValue
        return len(tries)

    assert retry(database, work) == 3

    def always() -> None:
        raise MissingValue

    with pytest.raises(BusyFile, match="keeps emptying the memo"):
        retry(database, always)


def test_vectors_of_another_shape_or_not_finite_are_refused(database: Database) -> None:
    class Broken(HashEmbedder):
        factor = 1.0

        def embed(self, texts, kind="document"):  # type: ignore[no-untyped-def]
            made: Float32 = super().embed(texts, kind)
            return made[:1] if self.factor == 1.0 else made * self.factor

    embedder = Broken(8)
    for factor in (1.0, float("nan")):
        embedder.factor = factor
        for one in (derivation.vectors(embedder), derivation.name_codes(embedder)):
            with pytest.raises(InvalidDocument, match="not finite"):
                one.derive_missing(database, one.keyed(["first", "second"]))


def test_summaries_begun_before_a_failure_are_stored(database: Database) -> None:
    extractive = ExtractiveSummarizer()
    failed = threading.Event()

    class Failing:
        key = spec = "failing"

        def summarize(self, texts: Sequence[str], max_tokens: int) -> SummaryText:
            if texts[0].startswith("Bad"):
                failed.set()
                raise ModelUnavailable("no answer")
            failed.wait(60)
            return extractive.summarize(texts, max_tokens)

    one = derivation.summaries(Failing(), 50)
    asked = [(f"{kind} sentence {n} of the boat in the harbour.",) for n, kind in enumerate(["Good", "Bad", "Good"])]
    with pytest.raises(ModelUnavailable):
        one.derive_missing(database, one.keyed(asked))
    with database.read() as connection:
        assert memo.rows(connection, memo.SUMMARY, [one.key(texts) for texts in asked]).keys() == {
            one.key(asked[0]),
            one.key(asked[2]),
        }
