"""A question, the sentence that answers it, and a model that cannot stream."""

from __future__ import annotations

from pathlib import Path
from threading import get_ident

from monograph import Answer, Document, Monograph
from monograph.models import Completion, StreamingModel

COMET = "Ines Okafor found the comet on the eleventh of April."
QUESTION = "Who found the comet?"


class Whole:
    """Model with a fixed reply, which cannot stream; ``asked`` has (prompt, max_tokens, thread id) of each call."""

    key = "whole"

    def __init__(self, said: str, tokens_out: int) -> None:
        self.said = said
        self.tokens_out = tokens_out
        self.asked: list[tuple[str, int, int]] = []

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        self.asked.append((prompt, max_tokens, get_ident()))
        return Completion(self.said, 7, self.tokens_out)


def answers_in_pieces(model: StreamingModel, path: Path) -> None:
    """Assert that a model that replies ``Ines Okafor [1].`` streams this answer in pieces, with its citation."""
    assert isinstance(model, StreamingModel)
    with Monograph.open(path, model=model) as monograph:
        monograph.add([Document(COMET, id="log")])
        *pieces, answer = monograph.stream(QUESTION, remember=False)
        assert isinstance(answer, Answer)
        assert "".join(map(str, pieces)) == answer.text == "Ines Okafor [1]."
        assert len(pieces) > 2
        assert answer.citations[0].spans[0].document_id == "log"
        assert answer.model == model.key
