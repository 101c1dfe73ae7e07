"""Names of chunks, compared with plain Python."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.derive.extract.pattern import mentions as pattern_mentions
from monograph.graph.chunk_names import NamedInChunk, chunk_names, full_names
from monograph.graph.names import LONGEST_KEY, mention_key
from monograph.text_pass import compiled
from monograph.values import ENTITY_KINDS, Mention
from support import evaluation_data, multilingual
from support.oracles import chunk_names as oracle
from support.properties import examples


def assert_same_names(
    texts: list[str], mentions: Sequence[tuple[Mention, ...]], cannot_link: Collection[tuple[str, str]]
) -> None:
    made = chunk_names(texts, mentions, cannot_link)
    assert made == oracle.chunk_names(texts, mentions, cannot_link)
    assert full_names(mentions, cannot_link) == oracle.full_names(mentions, cannot_link)
    assert all(type(one) is NamedInChunk for names, _ in made for one in names)


NAMES = st.lists(
    st.sampled_from(
        ["Ann", "T.", "B.", "J. R. R.", "Renk", "Tobias", "Anna", "Mr.", "Dr", "Mrs", "Señor", "Prize", "of", "by", "and", "The", "JenniferMoore",
         "McDonald", "LaCroix", "VanAllen", "ABc", "aB", "МоскваБар", "ÉlanVital", "А.", "Ольга", "Пушкин", "²", "½", "Ⅷ", "〇", "北京", "王", "ß", "İz",
         "O'Brien's", "1 May 2020", "2020-05-01", "٢٠٢٠-٠٥-٠١", "20200501", "31.02.2020", "1999", "May 1999", "\u0378", "\ud800", "x_y", "-", "!", "a", "é",
         "z" * 170, "q" * 330, "NATO", "North Atlantic"]
    )
    | multilingual.WORDS,
    min_size=1, max_size=4,
).flatmap(lambda parts: st.sampled_from([" ", " ", "", "-"]).map(lambda joint: joint.join(parts)))  # fmt: skip

KINDS = st.sampled_from(["person", "person", "name", "name", "name", "date", *ENTITY_KINDS]).map(str)
PLACES = st.integers(0, 60) | st.sampled_from([300, 70_000])
TEXTS = (
    st.lists(st.sampled_from([" (", ") ", "Ann", "NATO", "a. ", "\n", "é "]) | multilingual.WORDS, max_size=30).map(
        "".join
    )
    | multilingual.TEXTS
)
CHUNKS = st.lists(st.tuples(TEXTS, st.lists(st.builds(Mention, NAMES, KINDS, PLACES, PLACES), max_size=12).map(tuple)), max_size=4)  # fmt: skip
APART = st.sampled_from([(), {("renk", "t renk"), ("ann", "ann renk")}, frozenset({("tobias", "tobias renk"), ("renk", "tobias renk")})])  # fmt: skip


@settings(max_examples=examples(1_000))
@given(CHUNKS, APART)
def test_compiled_names_of_chunks_equal_plain_ones(
    chunks: list[tuple[str, tuple[Mention, ...]]], cannot_link: Collection[tuple[str, str]]
) -> None:
    assert_same_names([text for text, _ in chunks], [some for _, some in chunks], cannot_link)


@settings(max_examples=examples(300))
@given(NAMES | multilingual.TEXTS, KINDS)
def test_mentions_have_their_bounded_key(name: str, kind: str) -> None:
    ((names, _),) = chunk_names(["x"], [(Mention(name, kind, 0, 1),)], ())
    key = mention_key(name, kind)
    assert len(key) <= LONGEST_KEY
    if kind not in ("name", "person"):
        assert [one.key for one in names] == ([key] if len(key) > 1 or not key.isascii() else [])


@settings(max_examples=examples(300))
@given(st.lists(multilingual.TEXTS, min_size=1, max_size=3))
def test_names_of_pattern_mentions_equal_plain_ones(texts: list[str]) -> None:
    assert_same_names(texts, [tuple(pattern_mentions(text)) for text in texts], ())


@pytest.mark.parametrize(
    "mention",
    [
        Mention("Ann", "starship", 0, 3),
        Mention("Ann", "name", -1, 3),
        Mention("Ann", "name", 0, -1),
        Mention("Ann", "name", 1 << 70, 3),
    ],
)
def test_mentions_of_unknown_kinds_and_places_are_refused(mention: Mention) -> None:
    with pytest.raises(ValueError, match="of a kind or at a place"):
        chunk_names(["Ann (T. Renk)"], [(mention,)], ())


def test_names_and_sentences_beyond_the_limit_equal_plain_ones() -> None:
    text = "Ann. " * 400
    mentions = tuple(Mention(f"Name{n % 700}", "name", n, n + 1) for n in range(2_000))
    assert_same_names([text, text], [mentions, mentions[::-1]], ())


def test_chunk_names_refuse_arguments_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="mentions of each text"):
        chunk_names(["a"], [], ())
    with pytest.raises(TypeError, match="a text is a str"):
        chunk_names([1], [()], ())  # type: ignore[list-item]
    with pytest.raises(ValueError, match="no kind person"):
        compiled.Naming({}, ["name"], 10, NamedInChunk, Mention, mention_key)
    with pytest.raises(ValueError, match="names are tuples"):
        compiled.Naming({}, list(ENTITY_KINDS), 10, str, Mention, mention_key)  # type: ignore[type-var]
    odd = compiled.Naming({}, list(ENTITY_KINDS), 10, NamedInChunk, Mention, lambda name, kind: 1)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="a key is a str"):
        odd.of_chunks(["a"], [(Mention("20200501", "date", 0, 1),)], ())


@pytest.mark.long
@pytest.mark.parametrize("name", evaluation_data.CORPORA)
def test_compiled_chunk_names_of_corpora_equal_plain_ones(shared: Path, name: str) -> None:
    texts = list(evaluation_data.corpus(shared, name, 1_000))
    found = [tuple(pattern_mentions(text)) for text in texts]
    for at in range(0, len(texts), 5):
        assert_same_names(texts[at : at + 5], found[at : at + 5], ())
