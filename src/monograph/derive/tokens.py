"""Tokens, by the tokenizer that ships inside the wordllama package (Llama 2's, 32,000 tokens)."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from monograph.errors import ModelUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer


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

    made = Tokenizer.from_file(str(wordllama_file("tokenizers", "l2_supercat_tokenizer_config.json")))
    made.no_padding()
    made.no_truncation()
    return made


def count_tokens(texts: Sequence[str]) -> list[int]:
    """Number of tokens of each text, special tokens aside."""
    if not texts:
        return []
    return [len(encoding.ids) for encoding in tokenizer().encode_batch_fast(list(texts), add_special_tokens=False)]


def first_tokens(text: str, most: int) -> str:
    """The beginning of a text that has at most so many tokens."""
    offsets = tokenizer().encode(text, add_special_tokens=False).offsets
    if len(offsets) <= most:
        return text
    head = text[: offsets[most - 1][1]] if most else ""
    while len(tokenizer().encode(head, add_special_tokens=False).ids) > most:
        head = head[:-1]  # The last letter is several tokens, or is another beside its neighbours.
    return head
