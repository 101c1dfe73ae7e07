"""A question, the sentence that answers it, and a model that cannot stream."""

from __future__ import annotations

from threading import get_ident

from monograph.models import Completion

COMET = "Ines Okafor found the comet on the eleventh of April."
QUESTION = "Who found the comet?"


class Whole:
    """A model that says one thing, in one piece; ``asked`` keeps (prompt, most tokens, thread) of every call."""

    key = "whole"

    def __init__(self, said: str, tokens_out: int) -> None:
        self.said = said
        self.tokens_out = tokens_out
        self.asked: list[tuple[str, int, int]] = []

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        self.asked.append((prompt, max_tokens, get_ident()))
        return Completion(self.said, 7, self.tokens_out)
