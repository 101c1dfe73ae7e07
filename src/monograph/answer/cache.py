"""Answers of a model, remembered under a hash of the model and the prompt."""

from __future__ import annotations

import json

from monograph import spending
from monograph.models import Completion, LanguageModel
from monograph.store.file import memo
from monograph.store.file.database import Database
from monograph.store.file.errors import decoding
from monograph.store.file.rows import text, whole
from monograph.values import content_hash

MOST_TOKENS = 40
MOST_TYPES = 3

_PROMPT = (
    "What kind of thing answers the question? Choose up to three of: person, organisation, place, work, event, date,"
    " time, quantity, term. Write only these words, the likeliest first, with commas between them.\n\n"
    "Question: {question}\nKinds:"
)


def key_of(model: str, prompt: str, max_tokens: int) -> bytes:
    """The memo key of an answer; the prompt holds the question and the context."""
    return content_hash(memo.ANSWER, model, prompt, max_tokens)


class AnswerCache:
    """What models answered before, as a file holds it: until it is compacted, or something is forgotten."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def recall(self, key: bytes) -> Completion | None:
        """What was answered, or None."""
        with self._database.read() as connection:
            held = memo.rows(connection, memo.ANSWER, [key])
            values = memo.values(connection, held.values())
            for row, value in values.items():
                with decoding(connection, f"row {row} of memo, an answer,"):
                    made = json.loads(value)
                    return Completion(text(made["text"]), whole(made["tokens_in"]), whole(made["tokens_out"]))
        return None

    def keep(self, key: bytes, made: Completion) -> None:
        """Remember an answer; a file that is only read keeps none."""
        if self._database.read_only:
            return
        value = {"text": made.text, "tokens_in": made.tokens_in, "tokens_out": made.tokens_out}
        spent = made.tokens_in + made.tokens_out
        with self._database.write() as connection:
            memo.put(connection, memo.ANSWER, [(key, json.dumps(value, ensure_ascii=False).encode(), spent)])


def answer_types(model: LanguageModel, memory: AnswerCache, question: str) -> tuple[str, ...]:
    """Return of which types a model says the answer would be (MiniRAG, Sec. 3.2), the likeliest first; remembered.

    Raises
    ------
    ModelUnavailable
        If the model does not answer.
    """
    prompt = _PROMPT.format(question=" ".join(question.split()))
    key = key_of(model.key, prompt, MOST_TOKENS)
    made = memory.recall(key)
    if made is None:
        made = model.complete(prompt, MOST_TOKENS)
        spending.note("types", model.key, made.tokens_in, made.tokens_out)
        memory.keep(key, made)
    lines = [line for line in made.text.splitlines() if line.strip()]
    said = lines[-1].rpartition(":")[2].split(",") if lines else []
    return tuple(word.strip(" .*-\"'") for word in said[:MOST_TYPES])
