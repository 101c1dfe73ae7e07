"""Token counts, ids and spans, by the tokenizer inside the wordllama package (Llama 2's, 32,000 tokens)."""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from monograph.errors import ModelUnavailable
from monograph.text_pass import compiled

if TYPE_CHECKING:
    from monograph.text_pass._text_pass import Tokenizer

MOST_WORDS = 65_536
LONGEST_WORD = 32
"""Most characters of a word whose tokens are cached. The cache is emptied when it has MOST_WORDS words, about 10 MB."""


def wordllama_file(*parts: str) -> Path:
    """Return the path of a file in the installed wordllama package.

    The package is not imported: that takes 0.16 s and sets up logging.

    Raises
    ------
    ModelUnavailable
        If the package or the file is missing.
    """
    spec = importlib.util.find_spec("wordllama")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        path = Path(folder).joinpath(*parts)
        if path.is_file():
            return path
    raise ModelUnavailable(f"the wordllama package has no {'/'.join(parts)}", "pip install --force-reinstall wordllama")


@functools.cache
def tokenizer() -> Tokenizer:
    """Return the tokenizer. It is loaded once per process."""
    model = json.loads(wordllama_file("tokenizers", "l2_supercat_tokenizer_config.json").read_bytes())["model"]
    return compiled.Tokenizer(model["vocab"], model["merges"], MOST_WORDS, LONGEST_WORD)


def count_tokens(texts: Sequence[str]) -> list[int]:
    """Return the number of tokens of each text, without tokens for its start and end.

    If a text contains ``<s>``, ``</s>`` or ``<unk>``, each counts as one token. ``▁`` counts as a space. Raises
    UnicodeEncodeError if a text contains a lone surrogate, which has no tokens.
    """
    return tokenizer().count(list(texts))


def token_ids(text: str) -> list[int]:
    """Return the token ids of a text: see :func:`count_tokens`."""
    return tokenizer().ids(text)


def token_spans(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each token of a text. Tokens of the same character all have the character's span."""
    return tokenizer().spans(text)


def first_tokens(text: str, most: int) -> str:
    """Return the longest beginning of a text that has at most ``most`` tokens; the whole text if it has fewer."""
    spans = token_spans(text)
    if len(spans) <= most:
        return text
    head = text[: spans[most - 1][1]] if most else ""
    while count_tokens([head])[0] > most:
        head = head[:-1]  # The last character is several tokens, or was another token together with the next one.
    return head
