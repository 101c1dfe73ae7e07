"""What a question has to do with names in a text, in plain Python: what the compiled module must equal."""

from __future__ import annotations

from collections.abc import Sequence

from monograph.graph.text import sentence_starts
from monograph.search.question import Question
from support.oracles import words


def beside(
    question: Question, title: str, text: str, keys: Sequence[str], where: Sequence[Sequence[int]]
) -> list[tuple[int, float]]:
    """(different words of the name that the title has not, what the question's words beside it weigh) of each name."""
    in_title = set(words.words(words.key(title)))
    begins = sentence_starts(text)
    ends = [*begins[1:], len(text)]
    sentences = [question.places(words.words(text[begin:end])) for begin, end in zip(begins, ends, strict=True)]
    found = []
    for key, some in zip(keys, where, strict=True):
        own = set(words.words(key))
        aside = question.places(own | in_title)
        beside_it = [sentences[min(one, len(sentences) - 1)] - aside for one in some]
        # Sums of numbers hang on their order.
        weights = [float(sum(question.weights[place] for place in sorted(places))) for places in beside_it]
        found.append((len(own - in_title), max(weights, default=0.0)))
    return found
