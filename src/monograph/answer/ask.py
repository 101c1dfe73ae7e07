"""A context and a model: an answer whose citations were in the context, or none."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from monograph import spending
from monograph.answer.abstain import LEAST, LEAST_FOR_A_MODEL
from monograph.answer.cache import AnswerCache, key_of
from monograph.answer.excerpt import Counter
from monograph.models import Completion, LanguageModel, StreamingModel
from monograph.regex import regex
from monograph.values import ABSTENTION, Answer, Citation, Context, Timings

QUOTED = 3
"""Passages that stand for an answer where there is no model: the best ones."""

MARK = "» "
"""What stands before the sentence most likely to answer, where there is no model."""

_CITED = regex(r"\[(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\]")
_NUMBER = regex(r"\d+")
_ABSTAINS = regex(r"\W*i\s+(?:do\s+not|don['’]?t)\s+know\b", re.IGNORECASE)
_THOUGHT = regex(r"\s*<think>.*?(?:</think>|\Z)\s*", re.DOTALL)
_BLANKS = regex(r"[ \t]+(?=[.,;:!?]|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a question is answered.

    Parameters
    ----------
    max_tokens:
        Most tokens of a model's answer.
    threshold:
        Confidence below which nothing is answered; None for what is usual with a model, and without.
    count:
        How the tokens of an answer without a model are counted.
    """

    max_tokens: int
    threshold: float | None
    count: Counter


def mark_tokens(count: Counter) -> int:
    """Tokens that the mark of the best sentence takes."""
    return int(count([MARK])[0])


def stream(
    model: LanguageModel | None, context: Context, memory: AnswerCache | None, terms: Terms
) -> Iterator[str | Answer]:
    """Answer from a context: pieces of the answer as they come, and at the end all of it.

    A model is asked only where something relevant was found. What it answered before is taken from ``memory``; what it
    answers now is kept there, once it is whole.

    Raises
    ------
    ModelUnavailable
        If the model does not answer, or breaks off.
    """
    usual = LEAST if model is None else LEAST_FOR_A_MODEL
    doubted = context.relevance < (usual if terms.threshold is None else terms.threshold)
    if model is None or doubted or not context.citations:
        answer = quoted(context, terms.count, abstained=doubted)
        yield answer.text
        yield answer
        return
    key = key_of(model.key, context.prompt(), terms.max_tokens)
    known = memory.recall(key) if memory is not None else None
    if known is not None:
        answer = answered(context, Completion(known.text), model.key)
        yield answer.text
        yield replace(answer, remembered=True)
        return
    begun = first = time.perf_counter()
    made = Completion("")
    for piece in complete(model, context.prompt(), terms.max_tokens):
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
    """What an answer took in all: what came before the model was asked, and what it took."""
    waited = before.retrieval + before.reduction if asked.first_token else 0.0
    return replace(before, first_token=waited + asked.first_token, generation=asked.generation)


def complete(model: LanguageModel, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
    """What a model writes: pieces as they come, and at the end all of it; one piece where it cannot stream."""
    if isinstance(model, StreamingModel):
        yield from model.stream(prompt, max_tokens)
        return
    made = model.complete(prompt, max_tokens)
    if made.text:
        yield made.text
    yield made


def answered(context: Context, made: Completion, model: str) -> Answer:
    """What a model wrote, held against its context.

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


def quoted(context: Context, count: Counter, *, abstained: bool) -> Answer:
    """What can be said without a model: the best sentence and the best passages, as the budget allows, or nothing."""
    if abstained or (context.best is None and not context.citations):
        return Answer(ABSTENTION, (), context, abstained=True)
    for number in range(min(QUOTED, len(context.citations)), -1, -1):
        shown = context.citations[:number]
        text = "\n\n".join([*_lead(context), *map(_quotation, shown)])
        if context.best is None or count([text])[0] <= context.budget:
            break
    return Answer(text, shown, context)


def _lead(context: Context) -> list[str]:
    return [] if context.best is None else [f"{MARK}{context.best.text}"]


def _quotation(citation: Citation) -> str:
    return f"{citation.heading}\n{citation.text}"


def _kept(numbers: str, known: Collection[int]) -> str:
    left = [number for number in _NUMBER.findall(numbers) if int(number) in known]
    return f"[{', '.join(left)}]" if left else ""
