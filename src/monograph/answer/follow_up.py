"""What a question means after others: it is put so that it can be searched for alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from monograph import spending
from monograph.derive.extract.function_words import FUNCTION_WORDS, language_of
from monograph.models import LanguageModel
from monograph.regex import regex
from monograph.store.words.terms import words_of
from monograph.values import Chunk, Turn

TURNS = 3
"""Last turns that a model is shown."""

MOST_NAMES = 3
MOST_TOKENS = 80
SHOWN_CHARACTERS = 400

FEW_WORDS = 3
"""A question of fewer telling words hangs on what was said before it."""

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


def alone(model: LanguageModel | None, question: str, turns: Sequence[Turn]) -> str:
    """Return a question that can be searched for alone: rewritten by a model, or with the names of the turn before.

    Raises
    ------
    ModelUnavailable
        If the model does not answer.
    """
    if model is not None:
        return rewritten(model, question, turns)
    return carried(question, spoken_of(turns[-1]))


def rewritten(model: LanguageModel, question: str, turns: Sequence[Turn]) -> str:
    """Return a question as a model rewrites it to be understood alone; the question itself if that fails.

    Raises
    ------
    ModelUnavailable
        If the model does not answer.
    """
    shown = "\n".join(
        f"Question: {turn.question}\nAnswer: {' '.join(turn.answer.text.split())[:SHOWN_CHARACTERS]}"
        for turn in turns[-TURNS:]
    )
    made = model.complete(_REWRITE.format(turns=shown, question=question), MOST_TOKENS)
    spending.note("rewrite", model.key, made.tokens_in, made.tokens_out)
    lines = [line.strip().strip('"“”') for line in made.text.splitlines() if line.strip()]
    text = lines[-1] if lines else ""
    good = bool(text) and len(text) <= 3 * len(question) + SHOWN_CHARACTERS
    return text if good else question


def carried(question: str, names: Sequence[str]) -> str:
    """Return a question with names that were spoken of before it, where it hangs on them and does not name them.

    Parameters
    ----------
    question:
        As it was asked.
    names:
        Of the turns before it, those that matter most first.
    """
    small = FUNCTION_WORDS[language_of(question)]
    telling = [word for word in words_of(question) if word not in small]
    if len(telling) >= FEW_WORDS and not _POINTS_BACK.search(question):
        return question
    there = f" {' '.join(words_of(question))} "
    missing = [name for name in dict.fromkeys(names) if f" {' '.join(words_of(name))} " not in there]
    return " ".join((question, *(f"({name})" for name in missing[:MOST_NAMES])))


def spoken_of(turn: Turn) -> tuple[str, ...]:
    """Return the names that a turn is about: those of what was searched for, then the title of what was found first."""
    from monograph.derive.extract.pattern import PatternExtractor

    query = turn.answer.query or turn.question
    (found,) = PatternExtractor().extract([Chunk("", "", query, 0, len(query), 0)])
    named = sorted((one for one in found.mentions if one.kind in _NAMES), key=lambda one: (one.start, -one.end))
    titles = [one.title for one in turn.answer.context.citations[:1] if one.title]
    return tuple(dict.fromkeys((*(one.name for one in named), *titles)))
