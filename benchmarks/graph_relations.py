"""Recall with relations, as a language model would extract them: a scripted extractor states annotated evidence."""

from __future__ import annotations

import argparse
import gzip
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from graph_files import (
    CACHE,
    SHARED,
    Changes,
    Results,
    changed,
    dataset,
    forgetful,
    fresh,
    made,
    opened,
    questions,
    rows_of,
)
from machine import console
from monograph import Monograph
from monograph.derive.embed.static import StaticEmbedder
from monograph.derive.extract.pattern import PatternExtractor
from monograph.evaluate.run import evaluate
from monograph.graph.text import sentence_starts
from monograph.search import names
from monograph.search.names import StatedRelation, stated_relations
from monograph.search.one_file.file_reader import SearchCache
from monograph.values import Chunk, Extraction, Mention, Relation

RELATION_SETS = ("hotpotqa", "2wikimultihopqa", "musique")
ENDS = ("person", "organisation", "place", "work", "event", "date", "name")
STATED, TOGETHER = 0.9, 0.3
"""Strengths of annotated relations, and of other names that share a sentence with the first name of a passage."""


class Fact(NamedTuple):
    """A relation that a question set annotates; ``label`` is empty if the set has no name for the relation."""

    source: str
    target: str
    label: str


def annotated_facts(name: str) -> dict[str, list[Fact]]:
    """Return the facts of the evidence of a set's questions, by document.

    2WikiMultiHopQA has triples. Steps of MuSiQue that read *subject >> relation* are triples, too. HotpotQA has
    neither: a passage of the evidence that names the title of the next passage states a relation between both titles.
    """
    titles = {one.id: one.title for one in dataset(name).documents}
    facts: dict[str, list[Fact]] = {}
    with gzip.open(SHARED / "data" / name / "queries.jsonl.gz", "rt") as lines:
        for row in map(json.loads, lines):
            triples = [Fact(one, other, label) for one, label, other in row.get("evidence_triples", ())]
            triples += _steps(row)
            if name == "hotpotqa":
                triples = [
                    Fact(titles[one], titles[other], "")
                    for pair in pairwise(row["evidence_ids"])
                    for one, other in (pair, pair[::-1])
                ]
            for document in row["evidence_ids"]:
                facts.setdefault(document, []).extend(triples)
    return facts


def _steps(row: Mapping[str, Any]) -> Iterator[Fact]:
    """Yield the triples among the steps of a MuSiQue question, with earlier answers in place of their numbers."""
    answers: list[str] = []
    for step in row.get("decomposition", ()):
        subject, mark, label = step["question"].partition(" >> ")
        for number, answer in enumerate(answers, 1):
            subject = subject.replace(f"#{number}", answer)
        answers.append(step["answer"])
        if mark:
            yield Fact(subject, step["answer"], label)


class ScriptedExtractor:
    """Names by patterns, with the relations that ``facts`` has for a document.

    A fact is stated where a passage contains both of its names. Its description is the sentence with the target, its
    keyword the label. In every passage, the first name also has a relation to each name that shares a sentence with it.
    ``stated`` has the facts that were stated.
    """

    def __init__(self, facts: Mapping[str, Sequence[Fact]], key: str) -> None:
        self.facts = facts
        self.key = self.spec = key
        self.stated: set[Fact] = set()
        self._patterns = PatternExtractor()

    def extract(self, chunks: Sequence[Chunk]) -> Iterator[Extraction]:
        for chunk, found in zip(chunks, self._patterns.extract(chunks), strict=True):
            text, mentions = chunk.text, list(found.mentions)
            relations: dict[tuple[str, str], Relation] = {}
            for fact in self.facts.get(chunk.document_id, ()):
                source, target, label = fact
                begins = [text.casefold().find(name.casefold()) for name in (source, target)]
                if min(begins) >= 0:
                    spans = [(begin, begin + len(name)) for begin, name in zip(begins, (source, target), strict=True)]
                    one, other = (_name_at(mentions, text, *span) for span in spans)
                    self.stated.add(fact)
                    keywords = (label,) if label else ()
                    relations[one, other] = Relation(one, other, _sentence(text, begins[1]), keywords, STATED)
            for first, other in zip(mentions[:1] * len(mentions), mentions, strict=True):
                if other.kind in ENDS and _sentence(text, first.start) == _sentence(text, other.start):
                    ends = first.name, other.name
                    relations.setdefault(ends, Relation(*ends, _sentence(text, other.start), (), TOGETHER))
            mentions.sort(key=lambda mention: (mention.start, -mention.end, mention.name))
            distinct = tuple(one for one in relations.values() if one.source != one.target)
            yield replace(found, mentions=tuple(mentions), relations=distinct)


def _name_at(mentions: list[Mention], text: str, start: int, end: int) -> str:
    """Return the name of the mention at a span; add a mention if there is none."""
    for one in mentions:
        if (one.start, one.end) == (start, end):
            return one.name
    mentions.append(Mention(text[start:end], "name", start, end))
    return text[start:end]


def _sentence(text: str, offset: int) -> str:
    starts = sentence_starts(text)
    number = bisect_right(starts, offset)
    return " ".join(text[starts[number - 1] : starts[number] if number < len(starts) else len(text)].split())


def relations(options: argparse.Namespace) -> Results:
    """Measure recall@5 with relations, without each of their parts, and with names by patterns alone."""
    results: Results = {"stated": {}, "rows": {}}
    for row, name, titled in rows_of([one for one in options.sets if one in RELATION_SETS]):
        asked, path = questions(name, options), CACHE / "relations.mono"
        extractor = ScriptedExtractor(annotated_facts(name), f"scripted/{name}")
        documents = [one if titled else replace(one, title="") for one in dataset(name).documents]
        made.add(path)
        with opened(name, titled) as patterns, Monograph.open(fresh(path), StaticEmbedder(), extractor) as related:
            related.add(documents)
            searched: dict[str, tuple[Monograph, Ablation | None]] = {"patterns": (patterns, None)}
            searched |= {label: (related, ablation) for label, ablation in ABLATIONS.items()}
            for label, (monograph, ablation) in searched.items():
                with changed(() if ablation is None else _with_relations(ablation)):
                    value = evaluate(monograph, asked, "auto").scores.recall[4]
                results["rows"].setdefault(label, {})[row] = value
                console.print(f"{row:28} {label:16} {value:.3f}")
        results["stated"][row] = len(extractor.stated)
    return results


Ablation = Callable[[Relation], Relation | None]
ABLATIONS: dict[str, Ablation] = {
    "relations": lambda relation: relation,
    "no relations": lambda _: None,
    "no strength": lambda relation: replace(relation, strength=1.0),
    "no keywords": lambda relation: replace(relation, keywords=()),
    "no description": lambda relation: replace(relation, description=""),
}


def _with_relations(ablation: Ablation) -> Changes:
    def stated(relations: Sequence[Relation], title: str, keys: Sequence[str]) -> tuple[StatedRelation, ...]:
        return stated_relations([kept for one in relations if (kept := ablation(one))], title, keys)

    return ((names, "stated_relations", stated), (SearchCache, "at", forgetful))
