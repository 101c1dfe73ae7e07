"""The tokenizer of the tokenizers package: what the compiled one must equal."""

from __future__ import annotations

import functools

from tokenizers import Tokenizer

from monograph.derive import tokens


@functools.cache
def tokenizer() -> Tokenizer:
    """The tokenizer, without padding and truncation."""
    made = Tokenizer.from_file(str(tokens.wordllama_file("tokenizers", "l2_supercat_tokenizer_config.json")))
    made.no_padding()
    made.no_truncation()
    return made


def token_ids(text: str) -> list[int]:
    """The tokens of a text."""
    return list(tokenizer().encode(text, add_special_tokens=False).ids)


def spans(text: str) -> list[tuple[int, int]]:
    """Where each token of a text begins and ends."""
    return list(tokenizer().encode(text, add_special_tokens=False).offsets)
