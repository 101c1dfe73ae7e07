"""What a question has to do with names in a text, in plain Python: what the compiled module must equal."""

from __future__ import annotations

from collections.abc import Sequence

from monograph.search.leads import Start
from monograph.search.question import Question
from support.oracles import words


def beside(
    question: Question, start: Start, keys: Sequence[str], where: Sequence[Sequence[int]]
) -> list[tuple[int, float]]:
    """(different words of the name that the title has not, what the question's words beside it weigh) of each name."""
    title = set(words.words(words.key(start.title)))
    ends = [*start.sentences[1:], len(start.text)]
    sentences = [
        question.places(words.words(text)) for text in map(start.text.__getitem__, map(slice, start.sentences, ends))
    ]
    found = []
    for key, some in zip(keys, where, strict=True):
        own = set(words.words(key))
        aside = question.places(own | title)
        beside_it = [sentences[min(one, len(sentences) - 1)] - aside for one in some]
        # Sums of numbers hang on their order.
        weights = [float(sum(question.weights[place] for place in sorted(places))) for places in beside_it]
        found.append((len(own - title), max(weights, default=0.0)))
    return found
