"""Answers to questions, with or without a model: streaming, caching, and the check of citations."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from monograph import spending
from monograph.answer.confidence import LEAST, LEAST_FOR_A_MODEL, MARK
from monograph.derive.extract.function_words import FUNCTION_WORDS, language_of
from monograph.derive.tokens import count_tokens
from monograph.models import Completion, LanguageModel, StreamingModel
from monograph.regex import regex
from monograph.store.file import memo
from monograph.store.file.database import Database
from monograph.store.file.errors import decoding
from monograph.store.file.rows import text, whole
from monograph.store.words.terms import words_of
from monograph.values import ABSTENTION, Answer, Chunk, Context, Timings, Turn, content_hash

QUOTED = 3
"""Maximum number of passages in an answer without a model."""

MOST_TOKENS = 40
MOST_TYPES = 3

_PROMPT = (
    "What kind of thing answers the question? Choose up to three of these kinds; names of each kind follow it."
    "\n{kinds}\nWrite only the words of the kinds, the likeliest first, with commas between them.\n\n"
    "Question: {question}\nKinds:"
)

CITED = regex(r"\[(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\]")
"""Pattern of citations in an answer, such as ``[1]`` or ``[1, 3]``; the group has their numbers."""

_NUMBER = regex(r"\d+")
_ABSTAINS = regex(r"\W*i\s+(?:do\s+not|don['’]?t)\s+know\b", re.IGNORECASE)
_THOUGHT = regex(r"\s*<think>.*?(?:</think>|\Z)\s*", re.DOTALL)
_BLANKS = regex(r"[ \t]+(?=[.,;:!?]|$)", re.MULTILINE)


class AnswerCache:
    """Answers of models, stored in a file until the file is compacted or a removed text is erased from it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def recall(self, key: bytes) -> Completion | None:
        """Return the stored answer with this key, or None if there is none."""
        with self._database.read() as connection:
            rows = memo.rows(connection, memo.ANSWER, [key])
            values = memo.values(connection, rows.values())
            for row, value in values.items():
                with decoding(connection, f"row {row} of memo, an answer,"):
                    stored = json.loads(value)
                    return Completion(text(stored["text"]), whole(stored["tokens_in"]), whole(stored["tokens_out"]))
        return None

    def keep(self, key: bytes, made: Completion) -> None:
        """Store an answer; do nothing if the file is open for reading only."""
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
    """Yield the answer to a context's question in pieces, then the whole answer.

    The answer is an abstention if the context's confidence is below ``threshold``. The default is LEAST_FOR_A_MODEL
    with a model, and LEAST without one.

    ``memory`` caches answers by prompt. If it has an answer to the same prompt, the model is not called. A new answer
    is stored in ``memory`` when it is complete. Without a model, the answer consists of the best sentence and the best
    passages. Raises ModelUnavailable if the model does not answer, or stops before the end.
    """
    prompt = context.prompt()
    default = LEAST if model is None else LEAST_FOR_A_MODEL
    doubted = context.relevance < (default if threshold is None else threshold)
    if model is None or doubted or not context.citations:
        answer = quoted(context, abstained=doubted)
        yield answer.text
        yield answer
        return
    key = content_hash(memo.ANSWER, model.key, prompt, max_tokens)
    cached = memory.recall(key) if memory is not None else None
    if cached is not None:
        answer = answered(context, Completion(cached.text), model.key)
        yield answer.text
        yield replace(answer, cached=True)
        return
    started = first = time.perf_counter()
    completion = Completion("")
    if isinstance(model, StreamingModel):
        pieces = model.stream(prompt, max_tokens)
    else:
        completion = model.complete(prompt, max_tokens)
        pieces = iter((completion.text, completion) if completion.text else (completion,))
    for piece in pieces:
        if isinstance(piece, Completion):
            completion = piece
            continue
        first = time.perf_counter() if first == started else first
        yield piece
    spending.note("answer", model.key, completion.tokens_in, completion.tokens_out)
    if memory is not None and completion.text.strip():
        memory.keep(key, completion)
    seconds = Timings(first_token=first - started, generation=time.perf_counter() - first)
    yield replace(answered(context, completion, model.key), seconds=seconds)


def after(before: Timings, asked: Timings) -> Timings:
    """Return the timings of a whole answer, from the timings of its context (``before``) and of the model (``asked``).

    If a model was called, the time until the first token includes retrieval and reduction.
    """
    waited = before.retrieval + before.reduction if asked.first_token else 0.0
    return replace(before, first_token=waited + asked.first_token, generation=asked.generation)


def answered(context: Context, made: Completion, model: str) -> Answer:
    """Return a model's text as an answer, with its citations checked against the context.

    ``model`` is the model's key. The first ``<think>`` block is removed. A cited number that no citation of the context
    has is removed from the text, and listed in the answer's ``unknown``. If no text is left, the answer is an
    abstention.
    """
    text = _THOUGHT.sub("", made.text, count=1).strip()
    citations = {citation.number: citation for citation in context.citations}
    numbers = {int(number) for bracket in CITED.findall(text) for number in _NUMBER.findall(bracket)}
    unknown = tuple(sorted(numbers - citations.keys()))

    def keep_known(match: re.Match[str]) -> str:
        kept = [number for number in _NUMBER.findall(match[1]) if int(number) in citations]
        return f"[{', '.join(kept)}]" if kept else ""

    if unknown:
        text = _BLANKS.sub("", CITED.sub(keep_known, text)).strip()
    return Answer(
        text=text or ABSTENTION,
        citations=tuple(citations[number] for number in sorted(numbers & citations.keys())),
        context=context,
        model=model,
        abstained=not text or _ABSTAINS.match(text) is not None,
        unknown=unknown,
        tokens_in=made.tokens_in,
        tokens_out=made.tokens_out,
    )


def quoted(context: Context, *, abstained: bool) -> Answer:
    """Return the answer without a model: the best sentence, and at most QUOTED passages, within the context's budget.

    The answer is an abstention if ``abstained`` is True, or if the context has neither a best sentence nor a passage.
    """
    if abstained or (context.best is None and not context.citations):
        return Answer(ABSTENTION, (), context, abstained=True)
    for number in range(min(QUOTED, len(context.citations)), -1, -1):
        shown = context.citations[:number]
        lead = [] if context.best is None else [f"{MARK}{context.best.text}"]
        text = "\n\n".join([*lead, *(f"{citation.heading}\n{citation.text}" for citation in shown)])
        if context.best is None or count_tokens([text])[0] <= context.budget:
            break
    return Answer(text, shown, context)


def answer_types(
    model: LanguageModel, memory: AnswerCache, question: str, pool: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Return the entity types that a model predicts for the answer (MiniRAG, Sec. 3.2), likeliest first.

    ``pool`` has the kinds of entities that the model may choose, each with example names. The prediction is cached in
    ``memory``. Raises ModelUnavailable if the model does not answer.
    """
    kinds = "\n".join(f"{kind}: {', '.join(names)}" for kind, names in pool.items())
    prompt = _PROMPT.format(kinds=kinds, question=" ".join(question.split()))
    key = content_hash(memo.ANSWER, model.key, prompt, MOST_TOKENS)
    completion = memory.recall(key)
    if completion is None:
        completion = model.complete(prompt, MOST_TOKENS)
        spending.note("types", model.key, completion.tokens_in, completion.tokens_out)
        memory.keep(key, completion)
    lines = [line for line in completion.text.splitlines() if line.strip()]
    words = lines[-1].rpartition(":")[2].split(",") if lines else []
    return tuple(word.strip(" .*-\"'") for word in words[:MOST_TYPES])


TURNS = 3
"""Number of the latest turns of a conversation that a model reads to rewrite a question."""

MOST_NAMES = 3
QUESTION_TOKENS = 80
SHOWN_CHARACTERS = 400

FEW_WORDS = 3
"""Number of content words below which a question is treated as depending on the previous turns."""

_NAMES = frozenset(("person", "organisation", "place", "work", "event", "name", "code"))

_POINTS_BACK = regex(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|this|that|these|those|there|then|one|ones|same|else|also"
    r"|er|sie|es|ihn|ihm|ihr|ihnen|sein|seine|dort|damals|das|dies|diese|dieser|dieses|auch"
    r"|él|ella|ello|ellos|ellas|su|sus|eso|esa|ese|esto|allí|también)\b",
    re.IGNORECASE,
)
_REWRITE = (
    "Rewrite the last question so that it can be understood without the conversation: put names in the place of words"
    " like he, it or there. Write only the question, in its own language.\n\n{turns}\n\nLast question: {question}\n"
    "Rewritten question:"
)


def standalone_question(model: LanguageModel | None, question: str, turns: Sequence[Turn]) -> str:
    """Return a question that is understandable without the conversation.

    ``turns`` are the previous turns of the conversation, at least one, the latest last. A model rewrites the question.
    If the rewritten text is empty or very long, the question is returned unchanged. Without a model, names of the
    latest turn are appended: see :func:`add_previous_names`. Raises ModelUnavailable if the model does not answer.
    """
    if model is None:
        return add_previous_names(question, names_of_turn(turns[-1]))
    shown = "\n".join(
        f"Question: {turn.question}\nAnswer: {' '.join(turn.answer.text.split())[:SHOWN_CHARACTERS]}"
        for turn in turns[-TURNS:]
    )
    completion = model.complete(_REWRITE.format(turns=shown, question=question), QUESTION_TOKENS)
    spending.note("rewrite", model.key, completion.tokens_in, completion.tokens_out)
    lines = [line.strip().strip('"“”') for line in completion.text.splitlines() if line.strip()]
    text = lines[-1] if lines else ""
    return text if text and len(text) <= 3 * len(question) + SHOWN_CHARACTERS else question


def add_previous_names(question: str, names: Sequence[str]) -> str:
    """Append names of the latest turn to a question that depends on the conversation.

    Such a question has fewer than FEW_WORDS content words, or a word such as "he" or "there". Any other question is
    returned unchanged. ``names`` are ordered by importance, highest first. At most MOST_NAMES names that the question
    does not contain are appended.
    """
    small = FUNCTION_WORDS[language_of(question)]
    telling = [word for word in words_of(question) if word not in small]
    if len(telling) >= FEW_WORDS and not _POINTS_BACK.search(question):
        return question
    spaced_question = f" {' '.join(words_of(question))} "
    missing = [name for name in dict.fromkeys(names) if f" {' '.join(words_of(name))} " not in spaced_question]
    return " ".join((question, *(f"({name})" for name in missing[:MOST_NAMES])))


def names_of_turn(turn: Turn) -> tuple[str, ...]:
    """Return the names that a turn of a conversation is about: names in its question, then the title of a citation.

    If the question was rewritten for the search, the rewritten question is read instead. The citation is the first
    citation in the context of the turn's answer.
    """
    from monograph.derive.extract.pattern import PatternExtractor

    query = turn.answer.query or turn.question
    (extraction,) = PatternExtractor().extract([Chunk("", "", query, 0, len(query), 0)])
    named = sorted(
        (mention for mention in extraction.mentions if mention.kind in _NAMES),
        key=lambda mention: (mention.start, -mention.end),
    )
    titles = [citation.title for citation in turn.answer.context.citations[:1] if citation.title]
    return tuple(dict.fromkeys((*(mention.name for mention in named), *titles)))
