"""Of which types a model says an answer would be, as MiniRAG asks it (Sec. 3.2 of Fan et al. 2025)."""

from __future__ import annotations

from monograph import spending
from monograph.answer.cache import AnswerCache, key_of
from monograph.models import LanguageModel

MOST_TOKENS = 40
MOST_TYPES = 3

_PROMPT = (
    "What kind of thing answers the question? Choose up to three of: person, organisation, place, work, event, date,"
    " time, quantity, term. Write only these words, the likeliest first, with commas between them.\n\n"
    "Question: {question}\nKinds:"
)


def answer_types(model: LanguageModel, memory: AnswerCache, question: str) -> tuple[str, ...]:
    """What a model says the answer may be, in its own words, the likeliest first; remembered for the next time.

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
