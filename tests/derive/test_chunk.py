"""Chunks: verbatim, complete, bounded, and stable under edits."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
import sentencex
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Passage, Section, Settings
from monograph.derive.chunk import cut, sentences
from monograph.derive.tokens import count_tokens
from monograph.errors import InvalidDocument
from monograph.values import content_id
from support import multilingual
from support.properties import examples

SMALL = Settings(chunk_tokens=32, chunk_overlap=8)
PIECES = st.sampled_from(
    ["The cat sat. ", "Really? ", "No!\n", "\n\n", "a" * 90 + " ", "日本語の文です。", "Dr. Who came at 5 p.m. today, ", "🦉🦉 ", "naïve façade; ",
     "Name: hello\n", "\t", "3.14 ", "x" * 400, "กรุงเทพ", "\u2028", "e\u0301 ", "- item one\n- item two\n", "# not a heading\n"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=60).map("".join)


@settings(max_examples=examples(150))
@given(text=TEXTS, data=st.data())
def test_chunks_cover_the_text(text: str, data: st.DataObject) -> None:
    starts = sorted(data.draw(st.sets(st.integers(0, max(0, len(text) - 1)), max_size=3)))
    document = Document(text, id="d", sections=tuple(Section(start, (f"H{start}",)) for start in starts))
    chunks = cut(document, SMALL)
    covered: set[int] = set()
    for ordinal, chunk in enumerate(chunks):
        assert text[chunk.start : chunk.end] == chunk.text
        assert chunk.text == chunk.text.strip() != ""
        assert chunk.ordinal == ordinal
        covered.update(range(chunk.start, chunk.end))
    assert all(character.isspace() or at in covered for at, character in enumerate(text))
    assert [(chunk.start, chunk.end) for chunk in chunks] == sorted((chunk.start, chunk.end) for chunk in chunks)
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    assert chunks == cut(document, SMALL)
    # Chunks are cut by the token counts of single sentences, without the blanks between them. The joined text may have
    # one more token at each seam.
    for chunk in chunks:
        seams = len(list(sentences(chunk.text, (), SMALL.chunk_tokens)))
        (tokens,) = count_tokens([" ".join(chunk.text.split())])
        assert tokens <= SMALL.chunk_tokens + seams, (tokens, chunk.text)


def test_a_short_text_is_one_chunk() -> None:
    text = "One sentence. Another one.\n\nA paragraph. " * 12
    assert len(cut(Document(text), Settings())) == 1
    assert cut(Document(""), Settings()) == cut(Document(" \n "), Settings()) == []


def test_overlap_is_whole_sentences_and_stops_at_headings() -> None:
    sentences = [f"Sentence number {n} speaks of rivers." for n in range(40)]
    text = " ".join(sentences)
    heading = text.index("Sentence number 20 ")
    chunks = cut(Document(text, sections=(Section(0, ("A",)), Section(heading, ("A", "B")))), Settings(64, 16))
    overlaps = 0
    for one, two in zip(chunks, chunks[1:], strict=False):
        shared = text[two.start : one.end] if two.start < one.end else ""
        overlaps += bool(shared)
        assert shared == "" or shared in text
        assert count_tokens([shared])[0] <= 16
        assert text[two.start :].startswith("Sentence number")
        assert not two.start < heading < one.end
    assert overlaps >= 5
    assert {chunk.metadata["section"] for chunk in chunks} == {"A", "A > B"}


def test_endless_word_is_divided() -> None:
    text = "x" * 50_000
    chunks = cut(Document(text), Settings())
    assert "".join(chunk.text for chunk in chunks) == text
    assert max(count_tokens([chunk.text for chunk in chunks])) <= 256


def test_hard_wrapped_prose_is_not_cut_at_line_ends() -> None:
    text = "\n".join(
        ["It was a long and winding road that led", "to the house upon the hill. He walked it", "every day."] * 20
    )
    for chunk in cut(Document(text), SMALL):
        assert chunk.text.endswith((".", "day"))


def test_inserted_text_keeps_most_chunk_ids() -> None:
    text = "\n\n".join(f"Paragraph {n} has a few words of its own, and then a few more." for n in range(60))
    before = {chunk.id for chunk in cut(Document(text, id="d"), SMALL)}
    after = {chunk.id for chunk in cut(Document("A new beginning.\n\n" + text, id="d"), SMALL)}
    assert len(before - after) <= 3
    assert len(before) > 20


def test_ready_made_passages_stay_as_they_are() -> None:
    document = Document(
        id="d", passages=(Passage(" first ", id="a"), Passage("same"), Passage("same", metadata={"n": 1}))
    )
    chunks = cut(document, SMALL)
    assert [chunk.text for chunk in chunks] == [" first ", "same", "same"]
    assert [document.text[chunk.start : chunk.end] for chunk in chunks] == [chunk.text for chunk in chunks]
    assert chunks[0].id == "a"
    assert len({chunk.id for chunk in chunks}) == 3
    assert chunks[2].metadata == {"n": 1}
    with pytest.raises(InvalidDocument, match="empty"):
        cut(Document(id="d", passages=(Passage("\n"),)), SMALL)


@pytest.mark.long
def test_edits_of_a_book_change_few_chunks(shared: Path) -> None:
    with gzip.open(shared / "data/books/corpus.jsonl.gz", "rt") as file:
        paragraphs = "\n\n".join(json.loads(line)["text"] for line in file).split("\n\n")[:1000]
    chance = random.Random(7)
    before = cut(Document("\n\n".join(paragraphs), id="book"), Settings())
    known = {chunk.id for chunk in before}
    changed = []
    for _ in range(60):
        edited = list(paragraphs)
        at = chance.randrange(len(edited))
        edited[at : at + chance.randint(0, 1)] = [
            " ".join(chance.sample(paragraphs[at - 1].split() or ["word"], 1)) + " was added."
        ]
        after = {chunk.id for chunk in cut(Document("\n\n".join(edited), id="book"), Settings())}
        changed.append(len(after - known))
    mean = sum(changed) / len(changed)
    tokens = count_tokens([chunk.text for chunk in before])
    fill = sum(tokens) / len(tokens) / 256
    assert mean <= 4, (
        f"{mean:.2f} chunks changed on average, at most {max(changed)}; {len(before)} chunks, {fill:.0%} full"
    )
    assert fill >= 0.65, f"{fill:.0%} full"
    print(f"{mean:.2f} chunks change with an edit, {max(changed)} at most; chunks are {fill:.0%} full")


@settings(max_examples=examples(300))
@given(multilingual.TEXTS)
def test_sentences_cover_the_text_without_gaps(text: str) -> None:
    """The lengths of sentencex's sentences give the boundaries that it reports."""
    if not any("\ud800" <= sign <= "\udfff" for sign in text):
        boundaries = [(one["start_index"], one["end_index"]) for one in sentencex.get_sentence_boundaries("en", text)]
        ends = [0]
        for sentence in sentencex.segment("en", text):
            ends.append(ends[-1] + len(sentence))
        assert list(zip(ends, ends[1:], strict=False)) == boundaries


def test_chunk_ids_are_pinned() -> None:
    """Files store the ids, so the same parts must give the same id on every machine and in every version."""
    strange = "".join(map(chr, range(0x180))) + "\u2028\ud800\U0001f989"
    assert content_id("chunk", "d", strange, -1, 1 << 70) == "461f3b1164370e89a3c184a8ccdfc953"
    assert content_id("a", True, None, 1.5, ("b", ["c"]), {"z": 1, "a": "é"}) == "4241bfc805f16d23b67987d5704f9c67"
    assert content_id("ab", "c") != content_id("a", "bc")
