"""Context of a question within a token budget: the hits' best sentences, summaries of the tree, and graph paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from monograph import telemetry
from monograph.answer.confidence import LOOKED_AT, MARK, best_sentence, confidence, fitted, may_answer
from monograph.answer.pack import Packing, pack
from monograph.answer.reading import QueryTerms, Reading, query_terms, read_hits, titled
from monograph.regex import regex
from monograph.store.words.terms import words_of

if TYPE_CHECKING:
    from monograph.answer.overviews import Overview
    from monograph.search.reader import Reader
    from monograph.values import Context, Hit, Mention

RELATIONS = 3
CANDIDATES = 6
_WORD = regex(r"\w+")


@telemetry.traced("monograph.pack")
def make_context(reader: Reader, text: str, hits: Sequence[Hit], packing: Packing, over: Overview | None) -> Context:
    """Return the context of the question ``text``, built from its hits.

    ``reader`` reads the state of the file in which the hits were found. ``over`` has the summaries for the context, if
    any. The context's ``relevance`` is the confidence that the hits answer the question.
    """
    hits = hits if over is None else over.hits
    question = query_terms(reader, text)
    named = of_kind(reader, question, hits)
    # The beginning of a document is read in order: its sentences are not scored.
    is_opening, is_whole = over is not None and over.opening, over is not None and over.whole
    reading = Reading(question, map(titled, hits[:LOOKED_AT])) if is_opening else read_hits(question, hits)
    relevance = confidence(reading, hits)
    context = pack(reading, hits, packing, relations(hits), candidates(named, hits), over)
    if is_whole and context.citations:
        return replace(context, relevance=1.0)  # A question about a whole document is not answered by one sentence.
    best = best_sentence(reading, hits, named, relevance)
    if best is not None:
        best = fitted(question, best, packing.budget - packing.count([MARK])[0], packing.count)
    return replace(context, relevance=relevance, best=best)


def relations(hits: Sequence[Hit]) -> tuple[str, ...]:
    """Return the graph paths to the best hits as texts, without repeats.

    Paths with fewer than two entities are skipped.
    """
    paths = [
        " → ".join(dict.fromkeys(" ".join(node.name.split()) for node in hit.path.nodes[1:]))
        for hit in hits[:LOOKED_AT]
        if hit.path is not None and sum(node.kind == "entity" for node in hit.path.nodes) > 1
    ]
    return tuple(dict.fromkeys(paths))[:RELATIONS]


def of_kind(reader: Reader, question: QueryTerms, hits: Sequence[Hit]) -> dict[int, list[Mention]]:
    """Return the mentions of the kind that a question asks for: {index of the hit: mentions in the hit}.

    Names that occur in the question are left out. The result is empty if the question's words do not indicate a kind,
    or the hits have no graph.
    """
    if not question.kinds:
        return {}
    question_words = frozenset(question.every)

    def is_in_question(name: str) -> bool:
        if name.isascii() and (first := _WORD.search(name)) and first[0].lower() not in question_words:
            return False
        return question_words.issuperset(words_of(name))

    index_by_id = {hit.chunk.id: index for index, hit in enumerate(hits[:LOOKED_AT]) if hit.summary is None}
    texts = {identifier: hits[index].chunk.text for identifier, index in index_by_id.items()}
    return {
        index_by_id[identifier]: [mention for mention in mentions if not is_in_question(mention.name)]
        for identifier, mentions in reader.named_in(texts, question.kinds).items()
    }


def candidates(named: Mapping[int, Sequence[Mention]], hits: Sequence[Hit]) -> tuple[str, ...]:
    """Return at most CANDIDATES names that may answer the question, the most probable first.

    ``named`` maps the index of a hit to the mentions that have the kind that the question asks for: see
    :func:`of_kind`.
    """
    weights: dict[str, float] = {}
    for index, mentions in named.items():
        hit = hits[index]
        for name in {" ".join(mention.name.split()) for mention in mentions if may_answer(mention, hit.text)}:
            weights[name] = weights.get(name, 0.0) + 1.0 / (1.0 + hit.rank)
    return tuple(sorted(weights, key=lambda name: (-weights[name], name)))[:CANDIDATES]
