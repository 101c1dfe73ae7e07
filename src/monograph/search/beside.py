"""What a question has to do with names in the sentences of a text."""

from __future__ import annotations

from collections.abc import Sequence

from monograph.graph.names import key_of
from monograph.search.question import Question
from monograph.search.start_texts import Start
from monograph.store.terms import words_of
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
    asked = None if compiled is None else compiled.AskedWords(question.words.tolist(), question.weights.tolist())
    found = []
    for start, (keys, where) in zip(starts, names, strict=True):
        made = None
        if asked is not None:
            made = asked.beside(start.text, key_of(start.title), list(keys), where, start.sentences)
        found.append(plain_beside(question, start, keys, where) if made is None else made)
    return found


def plain_beside(
    question: Question, start: Start, keys: Sequence[str], where: Sequence[Sequence[int]]
) -> list[tuple[int, float]]:
    """The same of one text in Python: what the compiled equals."""
    title = frozenset(words_of(key_of(start.title)))
    sentences = _Sentences(question, start)
    found = []
    for key, some in zip(keys, where, strict=True):
        words = frozenset(words_of(key))
        weight = 0.0
        said = [places for one in some if (places := sentences.places(one))]
        if said:
            aside = question.places(words | title)
            weight = max(question.weight(places - aside) for places in said)
        found.append((len(words - title), weight))
    return found


class _Sentences:
    """Which of the question's words each sentence of a text has."""

    def __init__(self, question: Question, start: Start) -> None:
        self._question = question
        self._text = start.text
        self._spans = list(zip(start.sentences, [*start.sentences[1:], len(start.text)], strict=True))
        self._has: dict[int, frozenset[int]] = {}

    def places(self, sentence: int) -> frozenset[int]:
        """By their places among the question's words; of a sentence beyond the last those of the last."""
        found = self._has.get(sentence)
        if found is None:
            start, end = self._spans[min(sentence, len(self._spans) - 1)]
            found = self._has[sentence] = self._question.places(words_of(self._text[start:end]))
        return found
