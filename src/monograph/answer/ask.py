"""A context and a model: an answer whose citations were in the context, or none."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial

from monograph import spending
from monograph.answer.abstain import LEAST, LEAST_FOR_A_MODEL
from monograph.answer.best import MARK
from monograph.derive.tokens import count_tokens
from monograph.models import Completion, LanguageModel, StreamingModel
from monograph.regex import regex
from monograph.store.file import memo
from monograph.store.file.database import Database
from monograph.store.file.errors import decoding
from monograph.store.file.rows import text, whole
from monograph.values import ABSTENTION, Answer, Context, Timings, content_hash

QUOTED = 3
"""Passages that stand for an answer where there is no model: the best ones."""

MOST_TOKENS = 40
MOST_TYPES = 3

_PROMPT = (
    "What kind of thing answers the question? Choose up to three of: person, organisation, place, work, event, date,"
    " time, quantity, term. Write only these words, the likeliest first, with commas between them.\n\n"
    "Question: {question}\nKinds:"
)

_CITED = regex(r"\[(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\]")
_NUMBER = regex(r"\d+")
_ABSTAINS = regex(r"\W*i\s+(?:do\s+not|don['’]?t)\s+know\b", re.IGNORECASE)
_THOUGHT = regex(r"\s*<think>.*?(?:</think>|\Z)\s*", re.DOTALL)
_BLANKS = regex(r"[ \t]+(?=[.,;:!?]|$)", re.MULTILINE)


class AnswerCache:
    """What models answered before, as a file holds it: until it is compacted, or something is forgotten."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def recall(self, key: bytes) -> Completion | None:
        """Return a stored answer, or None."""
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


def stream(
    model: LanguageModel | None,
    context: Context,
    memory: AnswerCache | None,
    max_tokens: int,
    threshold: float | None = None,
) -> Iterator[str | Answer]:
    """Yield an answer from a context piece by piece, and at the end all of it.

    A model is asked only where something relevant was found: where the confidence reaches ``threshold``, by default
    LEAST_FOR_A_MODEL, and LEAST without a model. Its answer comes from ``memory`` if it gave it before, and is stored
    there once it is whole.

    Raises
    ------
    ModelUnavailable
        If the model does not answer, or breaks off.
    """
    prompt = context.prompt()
    usual = LEAST if model is None else LEAST_FOR_A_MODEL
    doubted = context.relevance < (usual if threshold is None else threshold)
    if model is None or doubted or not context.citations:
        answer = quoted(context, abstained=doubted)
        yield answer.text
        yield answer
        return
    key = content_hash(memo.ANSWER, model.key, prompt, max_tokens)
    known = memory.recall(key) if memory is not None else None
    if known is not None:
        answer = answered(context, Completion(known.text), model.key)
        yield answer.text
        yield replace(answer, remembered=True)
        return
    begun = first = time.perf_counter()
    made = Completion("")
    answer_with = model.stream if isinstance(model, StreamingModel) else partial(_at_once, model)
    for piece in answer_with(prompt, max_tokens):
        if isinstance(piece, Completion):
            made = piece
            continue
        first = time.perf_counter() if first == begun else first
        yield piece
    spending.note("answer", model.key, made.tokens_in, made.tokens_out)
    if memory is not None and made.text.strip():
        memory.keep(key, made)
    seconds = Timings(first_token=first - begun, generation=time.perf_counter() - first)
    yield replace(answered(context, made, model.key), seconds=seconds)


def after(before: Timings, asked: Timings) -> Timings:
    """Return the timings of a whole answer: of its context, and of the model."""
    waited = before.retrieval + before.reduction if asked.first_token else 0.0
    return replace(before, first_token=waited + asked.first_token, generation=asked.generation)


def _at_once(model: LanguageModel, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
    made = model.complete(prompt, max_tokens)
    if made.text:
        yield made.text
    yield made


def answered(context: Context, made: Completion, model: str) -> Answer:
    """Return a model's text as an answer, its citations checked against the context.

    What it thought aloud is left out. Numbers that it cites and that the context does not have are taken out of the
    text.
    """
    text = _THOUGHT.sub("", made.text, count=1).strip()
    known = {one.number: one for one in context.citations}
    numbers = {int(number) for found in _CITED.findall(text) for number in _NUMBER.findall(found)}
    unknown = tuple(sorted(numbers - known.keys()))
    if unknown:
        text = _BLANKS.sub("", _CITED.sub(lambda found: _kept(found[1], known.keys()), text)).strip()
    return Answer(
        text=text or ABSTENTION,
        citations=tuple(known[number] for number in sorted(numbers & known.keys())),
        context=context,
        model=model,
        abstained=not text or _ABSTAINS.match(text) is not None,
        unknown=unknown,
        tokens_in=made.tokens_in,
        tokens_out=made.tokens_out,
    )


def quoted(context: Context, *, abstained: bool) -> Answer:
    """Return the answer without a model: the best sentence and passages that fit the budget, or an abstention."""
    if abstained or (context.best is None and not context.citations):
        return Answer(ABSTENTION, (), context, abstained=True)
    for number in range(min(QUOTED, len(context.citations)), -1, -1):
        shown = context.citations[:number]
        lead = [] if context.best is None else [f"{MARK}{context.best.text}"]
        text = "\n\n".join([*lead, *(f"{one.heading}\n{one.text}" for one in shown)])
        if context.best is None or count_tokens([text])[0] <= context.budget:
            break
    return Answer(text, shown, context)


def _kept(numbers: str, known: Collection[int]) -> str:
    left = [number for number in _NUMBER.findall(numbers) if int(number) in known]
    return f"[{', '.join(left)}]" if left else ""


def answer_types(model: LanguageModel, memory: AnswerCache, question: str) -> tuple[str, ...]:
    """Return of which types a model says the answer would be (MiniRAG, Sec. 3.2), the likeliest first; remembered.

    Raises
    ------
    ModelUnavailable
        If the model does not answer.
    """
    prompt = _PROMPT.format(question=" ".join(question.split()))
    key = content_hash(memo.ANSWER, model.key, prompt, MOST_TOKENS)
    made = memory.recall(key)
    if made is None:
        made = model.complete(prompt, MOST_TOKENS)
        spending.note("types", model.key, made.tokens_in, made.tokens_out)
        memory.keep(key, made)
    lines = [line for line in made.text.splitlines() if line.strip()]
    said = lines[-1].rpartition(":")[2].split(",") if lines else []
    return tuple(word.strip(" .*-\"'") for word in said[:MOST_TYPES])
