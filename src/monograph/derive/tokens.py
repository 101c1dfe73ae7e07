"""Tokens, by the tokenizer that ships inside the wordllama package (Llama 2's, 32,000 tokens)."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from monograph.errors import ModelUnavailable
from monograph.text_pass import compiled

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from monograph.text_pass._text_pass import Tokenizer as CompiledTokenizer

MOST_WORDS = 65_536
LONGEST_WORD = 32
"""Characters. So many words of at most that length are kept with their tokens, about 10 MB; then it begins anew."""
WORDS_A_CALL = 64

_END_OF_LINE = 13  # The byte 10, which is a token of its own and part of no other.
_SPECIAL = re.compile("▁|<s>|</s>|<unk>")
_BLANKS = re.compile(" +[^ ]*")


def wordllama_file(*parts: str) -> Path:
    """A file of the installed wordllama package, found without importing it: that costs 0.16 s and sets up logging.

    Raises
    ------
    ModelUnavailable
        If the package or the file is missing.
    """
    found = importlib.util.find_spec("wordllama")
    for folder in (found.submodule_search_locations or []) if found is not None else []:
        path = Path(folder).joinpath(*parts)
        if path.is_file():
            return path
    raise ModelUnavailable(f"the wordllama package has no {'/'.join(parts)}", "pip install --force-reinstall wordllama")


@functools.cache
def tokenizer() -> Tokenizer:
    """The tokenizer, without padding and truncation. Loaded once."""
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(str(_description()))
    made.no_padding()
    made.no_truncation()
    return made


@functools.cache
def compiled_tokenizer() -> CompiledTokenizer | None:
    """The same, compiled; None where nothing could be. Loaded once."""
    if compiled is None:
        return None
    return compiled.Tokenizer(_description().read_bytes(), MOST_WORDS, LONGEST_WORD)


def _description() -> Path:
    return wordllama_file("tokenizers", "l2_supercat_tokenizer_config.json")


def count_tokens(texts: Sequence[str]) -> list[int]:
    """Number of tokens of each text, special tokens aside."""
    fast = compiled_tokenizer()
    if fast is None:
        return [len(ids) for ids in token_ids(texts)]
    counts = fast.count(list(texts))
    if min(counts, default=0) >= 0:
        return counts
    left = [place for place, count in enumerate(counts) if count < 0]
    for place, ids in zip(left, token_ids([texts[place] for place in left]), strict=True):
        counts[place] = len(ids)
    return counts


def token_ids(texts: Sequence[str]) -> list[list[int]]:
    """The tokens of each text, special tokens aside; by the tokenizers package, which is what the compiled equal."""
    return [list(chain.from_iterable(words)) for words in _tokens_of_words(texts)]


class _Words(dict[str, tuple[int, ...]]):
    """Tokens of words, by the word without the blank before it."""

    def __missing__(self, word: str) -> tuple[int, ...]:
        """Not kept. A word of no letters is a blank at the end of a text."""
        blank = tokenizer().token_to_id("▁")
        return tuple(tokenizer().encode(word, add_special_tokens=False).ids) if word or blank is None else (blank,)


@functools.cache
def _known_words() -> _Words:
    return _Words()


def _tokens_of_words(texts: Sequence[str]) -> list[list[tuple[int, ...]]]:
    """The tokens of each word of each text.

    No token of the vocabulary holds a blank behind another sign, so a text's tokens are those of its words, one after
    the other, and those of most words are known from other texts.
    """
    known = _known_words()
    words = [_words(text) for text in texts]
    fresh = [word for word in set().union(*words) if word and word not in known]
    known.update(_encoded(fresh))
    result = [list(map(known.__getitem__, some)) for some in words]
    for word in fresh:
        if len(word) > LONGEST_WORD:
            known.pop(word, None)
    if len(known) > MOST_WORDS:
        known.clear()
    return result


def _encoded(words: Sequence[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Words with their tokens. Many are given to the tokenizer as one text of lines: a call costs more than a word."""
    alone = {word for word in words if "\n" in word or _SPECIAL.search(word)}
    plain = [word for word in words if word not in alone]
    groups = [[word] for word in alone] + [plain[at : at + WORDS_A_CALL] for at in range(0, len(plain), WORDS_A_CALL)]
    made = tokenizer().encode_batch_fast(["\n ".join(some) for some in groups], add_special_tokens=False)
    for some, one in zip(groups, made, strict=True):
        lines = _lines(one.ids) if len(some) > 1 else [tuple(one.ids)]
        yield from zip(some, lines, strict=True)


def _lines(ids: list[int]) -> Iterator[tuple[int, ...]]:
    """Tokens parted at the ends of lines."""
    at = 0
    for _ in range(ids.count(_END_OF_LINE)):
        end = ids.index(_END_OF_LINE, at)
        yield tuple(ids[at:end])
        at = end + 1
    yield tuple(ids[at:])


def _words(text: str) -> list[str]:
    """A text parted before each run of blanks, of which one is left out; the first word has one of its own."""
    if _SPECIAL.search(text):
        return [text]
    if "  " in text or text.startswith(" "):
        return [word[1:] for word in _BLANKS.findall(f" {text}")]
    return text.split(" ") if text else []


def first_tokens(text: str, most: int) -> str:
    """The beginning of a text that has at most so many tokens."""
    offsets = tokenizer().encode(text, add_special_tokens=False).offsets
    if len(offsets) <= most:
        return text
    head = text[: offsets[most - 1][1]] if most else ""
    while len(tokenizer().encode(head, add_special_tokens=False).ids) > most:
        head = head[:-1]  # The last letter is several tokens, or is another beside its neighbours.
    return head
