"""What a question has to do with names in the sentences of a text."""

from __future__ import annotations

from collections.abc import Sequence

from monograph.graph.names import key_of
from monograph.search.question import Question
from monograph.search.start_texts import Start
from monograph.text_pass import compiled


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
