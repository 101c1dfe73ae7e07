"""Compiled pass over a text, equal to plain Python to the bit in every script."""

from __future__ import annotations

import functools
import importlib.util
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from monograph.derive.embed import static
from monograph.derive.embed.static import TOKENS_AT_ONCE, StaticEmbedder, token_vectors
from monograph.derive.extract.function_words import FUNCTION_WORDS, compiled_words, language_of
from monograph.derive.extract.pattern import key_phrases
from monograph.derive.tokens import (
    LONGEST_WORD,
    MOST_WORDS,
    count_tokens,
    first_tokens,
    token_ids,
    token_spans,
    tokenizer,
    wordllama_file,
)
from monograph.graph.names import key_of
from monograph.graph.text import sentence_starts, word_hashes
from monograph.store.words.terms import Entry, fold, indexed, words_of
from monograph.text_pass import compiled
from monograph.values import Float32
from support import evaluation_data, multilingual
from support.oracles import phrases
from support.oracles import words as oracle
from support.paths import ROOT
from support.properties import examples

found = importlib.util.spec_from_file_location("unicode_tables", ROOT / "tools" / "unicode_tables.py")
assert found is not None
assert found.loader is not None
unicode_tables = importlib.util.module_from_spec(found)
found.loader.exec_module(unicode_tables)

SEVERAL = st.lists(multilingual.TEXTS, max_size=6)
many = settings(max_examples=examples(300))


@functools.cache
def described() -> Tokenizer:
    """Return the tokenizer of the tokenizers package, without padding and truncation."""
    made = Tokenizer.from_file(str(wordllama_file("tokenizers", "l2_supercat_tokenizer_config.json")))
    made.no_padding()
    made.no_truncation()
    return made


def own(text: str) -> list[int]:
    return list(described().encode(text, add_special_tokens=False).ids)


def is_text(text: str) -> bool:
    """Whether it can be written in UTF-8: the tokenizers package takes nothing else."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def plain(texts: list[str]) -> list[str]:
    return [text for text in texts if is_text(text)]


def sums(texts: list[str], at_once: int = TOKENS_AT_ONCE) -> Float32:
    """The sums of the texts' token vectors, so many at once."""
    table = token_vectors()
    made = np.zeros((len(texts), table.shape[1]), dtype=np.float32)
    for place, ids in enumerate(map(own, texts)):
        for first in range(0, len(ids), at_once):
            made[place] += table[ids[first : first + at_once]].sum(axis=0)
    return made


def assert_same_tokens(texts: list[str]) -> None:
    wanted = list(map(own, texts))
    assert list(map(token_ids, texts)) == wanted
    assert list(map(token_spans, texts)) == [
        described().encode(text, add_special_tokens=False).offsets for text in texts
    ]
    assert count_tokens(texts) == list(map(len, wanted))
    expected = sums(texts)
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    np.divide(expected, lengths, out=expected, where=lengths > 0)
    assert StaticEmbedder().embed(texts).tobytes() == expected.tobytes()


SPECIAL = st.lists(
    st.sampled_from(
        ["▁", "<s>", "</s>", "<unk>", "<s", " ", "   ", "a", "word", "Word,", "\r\n", "\t", "é", "e\u0301", "中文", "🙂",
         "...", "'s", "\u00a0", "x" * 40, "1984", "\0"]
    ),
    max_size=12,
)  # fmt: skip


@many
@given(SEVERAL.map(plain) | st.lists(SPECIAL.map("".join), max_size=6))
def test_tokens_and_sums_are_those_of_the_tokenizer(texts: list[str]) -> None:
    assert_same_tokens(texts)


@settings(max_examples=examples(300))
@given(multilingual.TEXTS.filter(is_text), st.integers(1, 5))
def test_vector_sums_are_made_in_parts(text: str, at_once: int) -> None:
    made = np.empty((1, 256), dtype=np.float32)
    tokenizer().sums([text], token_vectors(), at_once, made)
    assert made.tobytes() == sums([text], at_once).tobytes()


def test_no_token_has_a_blank_behind_another_sign() -> None:
    assert [one for one in described().get_vocab() if "▁" in one.lstrip("▁")] == []


def test_the_first_tokens_of_a_text_are_at_most_so_many() -> None:
    text = "One two three, four five six. " * 20
    for most in (0, 1, 7, 50):
        head = first_tokens(text, most)
        assert text.startswith(head)
        assert count_tokens([head])[0] <= most


def test_half_a_surrogate_pair_has_no_tokens() -> None:
    for text in ("a\ud800b", "\udfff"):
        with pytest.raises(UnicodeEncodeError):
            count_tokens(["ab", text])
        with pytest.raises(UnicodeEncodeError):
            StaticEmbedder().embed([text])


def test_known_words_are_bounded() -> None:
    fast = tokenizer()
    texts = [" ".join(f"w{number}" for number in range(first, first + 5_000)) for first in range(0, MOST_WORDS, 5_000)]
    for text in texts:
        fast.count([text, "y" * (LONGEST_WORD + 1)])
        assert fast.known <= MOST_WORDS
    assert fast.ids(texts[0]) == own(texts[0])


def test_threads_share_what_they_know() -> None:
    texts = [" ".join(f"{sentence} {number}" for sentence in multilingual.SENTENCES) for number in range(400)]
    wanted = [len(own(text)) for text in texts]
    with ThreadPoolExecutor(4) as threads:
        found = threads.map(count_tokens, [texts[place::4] for place in range(4)])
        assert list(found) == [wanted[place::4] for place in range(4)]


def test_text_pass_refuses_arguments_that_do_not_fit() -> None:
    fast = tokenizer()
    row = np.empty((1, 256), dtype=np.float32)
    with pytest.raises(ValueError, match="do not fit"):
        fast.sums(["a", "b"], token_vectors(), TOKENS_AT_ONCE, row)
    with pytest.raises(ValueError, match="do not fit"):
        fast.sums(["a"], token_vectors(), 0, row)
    with pytest.raises(ValueError, match="lacks a token's row"):
        fast.sums(["a"], token_vectors()[:5], TOKENS_AT_ONCE, row)
    with pytest.raises(TypeError):
        fast.sums(["a"], token_vectors().astype(np.float64), TOKENS_AT_ONCE, row)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a text is a str"):
        fast.count(["a", 1])  # type: ignore[list-item]
    for vocabulary in ({"a": 1}, {"a": 70_000}):
        with pytest.raises(ValueError, match="vocabulary lacks|number above"):
            compiled.Tokenizer(vocabulary, [], 10, 10)


def test_few_texts_are_embedded_as_many_are() -> None:
    embedder = StaticEmbedder()
    texts = [*multilingual.SENTENCES, "", "▁", "one two " * 20_000] * 9
    assert len(texts) > static._FEW
    together = embedder.embed(texts)
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    assert alone.tobytes() == together.tobytes()


def test_numbers_of_two_bytes_are_those_of_numpy() -> None:
    fast = tokenizer()
    (token,) = fast.ids("the")
    every = np.arange(1 << 16, dtype=np.uint16)
    table = np.zeros((token + 1, 1 << 16), dtype=np.uint16)
    table[token] = every
    made = np.empty((1, 1 << 16), dtype=np.float32)
    fast.sums(["the"], table, TOKENS_AT_ONCE, made)
    np.testing.assert_array_equal(made[0], every.view(np.float16).astype(np.float32))


@pytest.mark.long
def test_character_tables_equal_pythons() -> None:
    """Every character: its kind, its class, its form without case and accents, its small form."""
    for code in range(sys.maxunicode + 1):
        sign = chr(code)
        flags, combining, folded, small = compiled.character(code)
        assert flags == unicode_tables.flags(sign), hex(code)
        assert small == (ord(sign.lower()) if len(sign.lower()) == 1 else code), hex(code)
        assert combining == unicodedata.combining(sign), hex(code)
        assert folded == unicode_tables.folded(sign), hex(code)


def assert_same_words(texts: list[str]) -> None:
    for text, hashed in zip(texts, word_hashes(texts), strict=True):
        assert fold(text) == oracle.folded(text)
        assert indexed(Entry(1, text[:20], text)) == (
            oracle.paired(text[:20]),
            oracle.paired(text),
            oracle.folded(text),
        )
        assert words_of(text) == oracle.words(text)
        assert hashed.tobytes() == oracle.hashes(oracle.words(text)).tobytes()


@many
@given(SEVERAL)
def test_compiled_words_are_folded_and_hashed(texts: list[str]) -> None:
    assert_same_words(texts)


MARKS = st.text(st.sampled_from("aकが가ا" + "".join(chr(code) for code in range(0x10000) if unicodedata.combining(chr(code))) + "\u1161\u11a8\u09be\u09c7\u0dcf\u0dd9"), max_size=12)  # fmt: skip


@many
@given(MARKS)
def test_marks_are_ordered_and_composed(text: str) -> None:
    assert_same_words([text])


KEYS = multilingual.joined(
    st.sampled_from(
        ["The", "a", "A.", "an", "the", "Beatles'", "O'Brien's", "’s", "'s", "'S", "S", "s", "J.R.R.", "_", "x_y", "AT&T", "-", " ", "\u00ad", "`",
         "´", "\u2060", "1999", "中国", "é", "İ", "ß", "ﬁ", "\u0301", "\u0378", "z" * 170, "z" * 158, "w" * 330, "\t", "\x1f", "½", "क़", "ǅ"]
    )
    | multilingual.WORDS,
    6,
)  # fmt: skip


@settings(max_examples=examples(1_000))
@given(KEYS | multilingual.TEXTS)
def test_compiled_keys_of_names_equal_plain_ones(name: str) -> None:
    assert key_of(name) == oracle.key(name)


def assert_same_sentences(texts: list[str]) -> None:
    assert list(map(sentence_starts, texts)) == list(map(oracle.sentence_starts, texts))


@many
@given(SEVERAL)
def test_sentence_starts_equal_those_of_the_splitter(texts: list[str]) -> None:
    assert_same_sentences(texts)


def assert_same_phrases(texts: list[str]) -> None:
    for text in texts:
        language = language_of(text)
        assert language == phrases.language_of(text)
        for one in {language, "english", "russian"}:
            assert key_phrases(text, one) == list(phrases.key_phrases(text, one))


SMALL = st.lists(
    st.sampled_from(sorted(set().union(*FUNCTION_WORDS.values())))
    | st.sampled_from(["model", "models", "neural", "große", "données", "модель", "𝔞𝔟𝔠𝔡𝔢", "wordA", "word_", "word1"])
    | st.sampled_from(["-", " ", ".", ",", "\u00a0", "Capital", "İn", "ΟΔΟΣ", "K", "a" * 30])
).map(" ".join)


@many
@given(st.lists(multilingual.TEXTS | SMALL | SMALL.map(lambda text: text.replace(" - ", "-")), max_size=6))
def test_compiled_languages_and_key_phrases_equal_plain_ones(texts: list[str]) -> None:
    assert_same_phrases(texts)


def test_only_the_head_of_a_text_tells_its_language() -> None:
    for text in ("the " * 199 + "der die das " * 9, "x" * 3_990 + " the und und und", " " * 3_999 + "die der das und"):
        assert_same_phrases([text])


def test_a_language_that_is_not_known_is_refused() -> None:
    fast = compiled_words()
    with pytest.raises(ValueError, match="no language klingon"):
        fast.key_phrases("a text", "klingon", 1, 1)
    with pytest.raises(ValueError, match="one word at least"):
        fast.key_phrases("a text", "english", 1, 0)
    with pytest.raises(ValueError, match="one language at least"):
        compiled.Lexicon({}, {}).language_of("a text", 1, 1)
    with pytest.raises(ValueError, match="at most 32 languages"):
        compiled.Lexicon({}, {str(number): ["a"] for number in range(33)})


@pytest.mark.long
@pytest.mark.parametrize("name", evaluation_data.CORPORA)
def test_texts_of_corpora_are_read_as_by_plain_python(shared: Path, name: str) -> None:
    assert_same_tokens(list(evaluation_data.corpus(shared, name, 400)))
    texts = list(evaluation_data.corpus(shared, name, 2_000))
    assert_same_words(texts)
    assert_same_sentences(texts)
    assert_same_phrases(texts[::2])
    for key in {" ".join(two) for text in texts for two in pairwise(text.split())}:
        assert key_of(key) == oracle.key(key)
