"""Where chunks are cut, and the hashes that name them: compiled and in Python they are the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sentencex
from hypothesis import example, given
from hypothesis import settings as tried
from hypothesis import strategies as st

import scripts
from monograph import Document, Settings
from monograph.derive.breaks import count_blocks
from monograph.derive.chunk import compiled_spans, cut, plain_spans
from monograph.derive.stretches import plain_is_easy
from monograph.derive.tokens import compiled_tokenizer
from monograph.text_pass import compiled
from monograph.values import Place, Section
from monograph.values.content import content_hash, plain_canonical

if compiled is None:
    pytest.skip("nothing was compiled on this machine", allow_module_level=True)

SIZES = st.sampled_from([(16, 0), (16, 8), (17, 5), (24, 12), (40, 7), (64, 32), (256, 32)])
PLACES = st.lists(st.integers(-3, 3_000), max_size=6)
LONG = st.lists(
    scripts.TEXTS | st.sampled_from(scripts.SENTENCES) | st.sampled_from(["\n\n", "\n", " ", "# Heading\n", "Same. ", "Same. "]), max_size=24
).map("".join)  # fmt: skip


def assert_same_chunks(document: Document, settings: Settings) -> None:
    wanted = list(plain_spans(document, settings))
    assert compiled_spans(document, settings) in (wanted, None)
    assert cut(document, settings) == cut(document, settings, count_blocks([document.text])[0])


@tried(deadline=None, max_examples=1_000)
@given(LONG.filter(lambda text: not any("\ud800" <= sign <= "\udfff" for sign in text)), PLACES, PLACES, SIZES)
def test_chunks(text: str, headings: list[int], borders: list[int], size: tuple[int, int]) -> None:
    document = Document(
        text,
        sections=tuple(Section(start, ("A",)) for start in sorted(headings)),
        places=tuple(Place(start, page=1, boundary=start % 2 == 0) for start in sorted(borders)),
    )
    assert_same_chunks(document, Settings(*size))


@pytest.mark.long
@pytest.mark.parametrize("name", scripts.CORPORA)
def test_chunks_of_corpora(shared: Path, name: str) -> None:
    for place, text in enumerate(scripts.corpus(shared, name, 400, 8_000)):
        headings = tuple(Section(start, ("A",)) for start in range(0, len(text), 700 + place))
        for size in ((16, 8), (64, 16), (256, 32)):
            assert_same_chunks(Document(text, sections=headings), Settings(*size))


def test_most_texts_are_not_left_to_the_twin() -> None:
    for settings in (Settings(), Settings(200, 50)):
        assert compiled_spans(Document(" ".join(scripts.SENTENCES)), settings) is not None
        for left in ("▁ is a token.", "one </s> two", "word " * 300):
            assert compiled_spans(Document(left), settings) is None
    unordered = tuple(Place(start, page=1, boundary=True) for start in (5, 2))
    assert compiled_spans(Document("One. Two. Three.", places=unordered), Settings()) is None


def test_what_does_not_fit_is_refused() -> None:
    fast = compiled_tokenizer()
    assert fast is not None
    with pytest.raises(ValueError, match="beyond the text"):
        fast.chunks("abc", [(0, 4)], [], [], 10, (16, 0))
    for room in ((0, 0), (16, -1), (16, 16)):
        with pytest.raises(ValueError, match="has room"):
            fast.chunks("abc", [(0, 3)], [], [], 10, room)


@tried(deadline=None, max_examples=300)
@given(scripts.TEXTS)
def test_sentences_without_a_gap(text: str) -> None:
    """What is asked of sentencex are its sentences: their lengths tell its boundaries."""
    if not any("\ud800" <= sign <= "\udfff" for sign in text):
        boundaries = [(one["start_index"], one["end_index"]) for one in sentencex.get_sentence_boundaries("en", text)]
        ends = [0]
        for sentence in sentencex.segment("en", text):
            ends.append(ends[-1] + len(sentence))
        assert list(zip(ends, ends[1:], strict=False)) == boundaries


@tried(deadline=None, max_examples=300)
@given(scripts.TEXTS, st.integers(0, 40))
def test_easy_texts(text: str, most: int) -> None:
    assert compiled.is_easy(text, most) == plain_is_easy(text, most)


PARTS = st.lists(scripts.TEXTS | st.integers() | st.sampled_from(['"\\\b\f\n\r\t\x00\x1f\x7f\u2028', "\ud800\udc00"]), max_size=4).map(tuple)  # fmt: skip


@tried(deadline=None, max_examples=1_000)
@given(PARTS)
@example(("".join(map(chr, range(0x180))), -1, 0, 1 << 62))
def test_canonical_texts(parts: tuple[str | int, ...]) -> None:
    written = compiled.canonical(parts)
    is_small = all(isinstance(part, str) or -(1 << 63) <= part < 1 << 63 for part in parts)
    assert written == (plain_canonical(parts) if is_small else None)
    if is_small and written is not None:
        assert json.loads(written.decode("utf-8", "surrogatepass")) == list(parts) or "\ud800" in str(parts)


def test_what_is_no_text_and_no_number_is_left() -> None:
    for part in (True, None, 1.5, ("a",), ["a"], {"a": 1}):
        assert compiled.canonical(("a", part)) is None
    assert content_hash("a", True).hex()[:16] == content_hash(*json.loads('["a", true]')).hex()[:16]
