from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from monograph.values import Mention

_Mention = TypeVar("_Mention")
_Named = TypeVar("_Named", bound=tuple[str, str, int, int])

class Tokenizer:
    """Byte-pair encoding with fallback to bytes. Raises UnicodeEncodeError for an unpaired surrogate."""

    def __init__(
        self, vocabulary: dict[str, int], merges: list[str], most_words: int, longest_word: int, /
    ) -> None: ...
    def count(self, texts: list[str], /) -> list[int]:
        """Return the number of tokens of each text."""
    def ids(self, text: str, /) -> list[int]:
        """Return the tokens of a text."""
    def spans(self, text: str, /) -> list[tuple[int, int]]:
        """Return (start, end) of each token of a text, in characters."""
    def sums(
        self,
        texts: list[str],
        table: npt.NDArray[np.float32] | npt.NDArray[np.uint16],
        at_once: int,
        out: npt.NDArray[np.float32],
    ) -> None:
        """Fill ``out`` with the sum of each text's token vectors."""
    @property
    def known(self) -> int:
        """Number of words whose tokens are cached."""

def unicode_version() -> str:
    """Return the version of Unicode that the tables were made from."""

def character(code: int, /) -> tuple[int, int, str, int]:
    """Return (flags, combining class, fold, lower case) of a character, for tests."""

def fold_and_pair(text: str, /) -> tuple[str, str]:
    """Return a text without case and accents, and the same with characters in pairs where a script has no spaces."""

def key_of(name: str, longest: int, /) -> str:
    """Return the key of a name."""

def word_hashes(texts: list[str], /) -> list[bytes]:
    """Return CRC-32 of the stems of each text's words: uint32, ascending, in bytes."""

def sentence_starts(text: str, /) -> list[int]:
    """Return the indexes at which the sentences of a text begin."""

def title_phrases(
    texts: list[str], none: Collection[str], words: int, small: int, longest_key: int, /
) -> list[dict[str, int]]:
    """Return, for each text, the keys of phrases that may be a title, with their first offsets."""

class Lexicon:
    """Sets of words for finding names, and the function words of languages."""

    def __init__(self, sets: Mapping[str, Iterable[str]], languages: Mapping[str, Iterable[str]], /) -> None: ...
    def names(
        self,
        text: str,
        language: str,
        taken: Sequence[tuple[int, int]],
        is_number: Callable[[int, int], bool],
        kind_of: Callable[[int, int, bool, bool], str],
        /,
    ) -> list[tuple[int, int, str]]:
        """Return (start, end, kind) of a text's names."""
    def language_of(self, text: str, characters: int, words: int, /) -> str:
        """Return the language of a text, by its first ``characters`` and ``words``."""
    def key_phrases(self, text: str, language: str, most: int, words_a_phrase: int, /) -> list[tuple[int, int]]:
        """Return the spans of a text's key phrases."""

class Mentions(Generic[_Mention]):
    """Builder of mentions in bulk."""

    def __init__(self, kinds: list[str], mention: type[_Mention], /) -> None: ...
    def made(self, text: str, rows: list[list[int]], /) -> list[_Mention]:
        """Return a mention for each (index of the kind, start, end)."""
    def merged(
        self,
        text: str,
        shapes: list[tuple[int, int, str]],
        names: list[tuple[int, int, str]],
        phrases: list[tuple[int, int]],
        longest: int,
        most: int,
        /,
    ) -> list[_Mention]:
        """Return a mention for each distinct span, in order of start, longer before shorter."""

class AskedWords:
    """Words of a question, and their weights."""

    def __init__(self, words: Sequence[int], weights: Sequence[float], /) -> None: ...
    def beside(
        self, text: str, title_key: str, keys: list[str], where: Sequence[Sequence[int]], starts: Sequence[int], /
    ) -> list[tuple[int, float]]:
        """Return (words that the title lacks, weight of the question's words in its best sentence) of each name."""

class Clues:
    """Clues of single words, by lower-case word."""

    def __init__(self, words: Mapping[str, int], /) -> None: ...

class AskedTerms:
    """Words of a question, for comparison with texts."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        table: npt.NDArray[np.uint16],
        words: list[str],
        every: list[str],
        clues: Clues,
    ) -> None: ...
    def compare(
        self,
        texts: list[str],
        stretches: Sequence[Sequence[tuple[int, int]]],
        out: npt.NDArray[np.float64],
        wholes: npt.NDArray[np.float64],
    ) -> None:
        """Fill ``out`` with a row for each stretch, and ``wholes`` with a row for each text."""

class Naming(Generic[_Named]):
    """Finder of the names of a document's chunks."""

    def __init__(
        self,
        sets: Mapping[str, Iterable[str]],
        kinds: list[str],
        longest_key: int,
        named: type[_Named],
        mention: type[Mention],
        ask: Callable[[str, str], str],
        /,
    ) -> None: ...
    def of_chunks(
        self, texts: list[str], mentions: list[tuple[Mention, ...]], cannot_link: Collection[tuple[str, str]], /
    ) -> list[tuple[tuple[_Named, ...], list[tuple[int, int]]]]:
        """Return, for each chunk, its names, and pairs of mentions, the second in brackets after the first."""
    def full_names(
        self, mentions: list[tuple[Mention, ...]], cannot_link: Collection[tuple[str, str]], /
    ) -> dict[str, str]:
        """Return the full names of a document's persons, by themselves and by first or last names."""
