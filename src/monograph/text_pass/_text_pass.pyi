from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from monograph.values import Mention

_Mention = TypeVar("_Mention")
_Named = TypeVar("_Named", bound=tuple[str, str, int, int])

class Tokenizer:
    def __init__(self, vocabulary: dict[str, int], merges: list[str], most_words: int, longest_word: int) -> None: ...
    def count(self, texts: list[str]) -> list[int]: ...
    def ids(self, text: str) -> list[int] | None: ...
    def spans(self, text: str) -> list[tuple[int, int]] | None: ...
    def sums(
        self,
        texts: list[str],
        table: npt.NDArray[np.float32] | npt.NDArray[np.uint16],
        at_once: int,
        out: npt.NDArray[np.float32],
    ) -> list[int]: ...
    @property
    def known(self) -> int: ...

def unicode_version() -> str: ...
def character(code: int) -> tuple[int, int, str, int]: ...
def fold_and_pair(text: str) -> tuple[str, str]: ...
def key_of(name: str, longest: int) -> str: ...
def word_hashes(texts: list[str]) -> list[bytes]: ...
def sentence_starts(text: str) -> list[int]: ...
def title_phrases(
    texts: list[str], none: Collection[str], words: int, small: int, longest_key: int
) -> list[dict[str, int]]: ...

class Lexicon:
    def __init__(self, sets: Mapping[str, Iterable[str]], languages: Mapping[str, Iterable[str]]) -> None: ...
    def names(
        self,
        text: str,
        language: str,
        taken: Sequence[tuple[int, int]],
        is_number: Callable[[int, int], bool],
        kind_of: Callable[[int, int, bool, bool], str],
    ) -> list[tuple[int, int, str]]: ...
    def language_of(self, text: str, characters: int, words: int) -> str: ...
    def key_phrases(self, text: str, language: str, most: int, words_a_phrase: int) -> list[tuple[int, int]]: ...

class Mentions(Generic[_Mention]):
    def __init__(self, kinds: list[str], mention: type[_Mention]) -> None: ...
    def made(self, text: str, rows: list[list[int]]) -> list[_Mention]: ...
    def merged(
        self,
        text: str,
        shapes: list[tuple[int, int, str]],
        names: list[tuple[int, int, str]],
        phrases: list[tuple[int, int]],
        longest: int,
        most: int,
    ) -> list[_Mention]: ...

class AskedWords:
    def __init__(self, words: Sequence[int], weights: Sequence[float]) -> None: ...
    def beside(
        self, text: str, title_key: str, keys: list[str], where: Sequence[Sequence[int]], starts: Sequence[int]
    ) -> list[tuple[int, float]]: ...

class Clues:
    def __init__(self, words: Mapping[str, int]) -> None: ...

class AskedTerms:
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
    ) -> None: ...

class Naming(Generic[_Named]):
    def __init__(
        self,
        sets: Mapping[str, Iterable[str]],
        kinds: list[str],
        longest_key: int,
        named: type[_Named],
        mention: type[Mention],
        ask: Callable[[str, str], str],
    ) -> None: ...
    def of_chunks(
        self, texts: list[str], mentions: list[tuple[Mention, ...]], cannot_link: Collection[tuple[str, str]]
    ) -> list[tuple[tuple[_Named, ...], list[tuple[int, int]]]]: ...
