"""Where the names in a search's starts lead, read hop by hop."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from monograph.graph.names import key_of
from monograph.search.question import Question
from monograph.search.start_texts import Start
from monograph.search.walked import Walk
from monograph.text_pass import compiled

_ROW, _KEY = attrgetter("row"), attrgetter("key")


def follow(found: Walk, starts: Sequence[int]) -> None:
    """Add the links that lead out of some chunks that are known, and what these make of the chances of others."""
    texts = found.snapshot.starts(starts)
    found.texts.update(zip(starts, texts, strict=True))
    for text in texts:
        found.names.update(zip(map(_ROW, text.names), text.names, strict=True))
    keys = [(list(map(_KEY, text.names)), text.sentences) for text in texts]
    tells = beside(found.question, [text.start for text in texts], keys)
    heads = found.reckoning.begin(starts, texts, tells)
    leads = found.snapshot.leads(heads, found.names, found.allowed)
    found.learn(found.reckoning.lead(leads))
    found.reckoning.follow()


def beside(
    question: Question, starts: Sequence[Start], names: Sequence[tuple[Sequence[str], Sequence[Sequence[int]]]]
) -> list[list[tuple[int, float]]]:
    """What there is to tell of names in some texts.

    Parameters
    ----------
    question:
        Taken apart.
    starts:
        The texts.
    names:
        (keys, sentences each of them stands in) of each text.

    Returns
    -------
    (different words of the name that the title has not, what the question's words beside it weigh in the best of its
    sentences) of each name, text by text.
    """
    asked = compiled.AskedWords(question.words.tolist(), question.weights.tolist())
    return [
        asked.beside(start.text, key_of(start.title), list(keys), where, start.sentences)
        for start, (keys, where) in zip(starts, names, strict=True)
    ]
