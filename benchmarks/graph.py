"""Benchmark of the entity–chunk graph: recall, recall without each part, costs, calls to a language model.

``make bench-graph`` runs all sections and writes docs/benchmarks/graph.md with its plot and graph.json. Results are
kept from run to run, so ``--only`` measures some sections again and keeps the others. ``--only`` without a section
measures nothing, and writes the page from docs/benchmarks/graph.json.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import graph_report
import graph_rivals
from graph_costs import build, edit, query
from graph_files import (
    CACHE,
    SETS,
    UNTITLED,
    Changes,
    Faithful,
    Results,
    changed,
    dataset,
    forgetful,
    fresh,
    made,
    opened,
    questions,
    rows_of,
    unresolved,
)
from graph_languages import languages
from graph_relations import relations
from machine import SHARED, console, run_sections
from monograph import Monograph
from monograph.derive.embed.onnx import OnnxEmbedder
from monograph.derive.embed.static import StaticEmbedder
from monograph.evaluate.run import evaluate
from monograph.graph import evidence
from monograph.search import minirag, question
from monograph.search.names import ChunkLinks, LinkRequest
from monograph.search.one_file.file_reader import SearchCache
from monograph.store.graph.graphs import SubjectChunk
from monograph.values import Document

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs" / "benchmarks"
MINILM = f"onnx:{SHARED / 'models' / 'all-MiniLM-L6-v2'}"
MINILM_SETS = (*UNTITLED, "lihuaworld", "multihop-rag")
SENSITIVE_SETS = ("lihuaworld", "hotpotqa")
SENSITIVE_QUESTIONS = 100
MODEL_SET = "lihuaworld"
MODEL_DOCUMENTS = 100


def recall(options: argparse.Namespace) -> Results:
    """Measure recall and latency of the search modes on each set."""
    results: Results = {}
    for row, name, titled in rows_of(options.sets):
        asked = questions(name, options)
        with opened(name, titled) as monograph:
            found = {
                "lexical": evaluate(monograph, asked, "lexical"),
                "hybrid": evaluate(monograph, asked, "hybrid"),
                "graph": evaluate(monograph, asked, "auto"),
                "faithful": evaluate(Faithful(monograph), asked, "graph"),
            }
        results[row] = {
            way: {
                "questions": one.scores.questions,
                "recall@5": one.scores.recall[4],
                "recall@10": one.scores.recall[9],
                "all@5": one.scores.all_evidence,
                "MRR": one.scores.reciprocal_rank,
                "p50": one.p50,
            }
            for way, one in found.items()
        }
        told = "  ".join(f"{way} {one.scores.recall[4]:.3f}" for way, one in found.items())
        console.print(f"{row:30} {told}")
    return results


_USUAL = LinkRequest.leads


def _to_all_that_name(
    request: LinkRequest, about: Sequence[SubjectChunk], naming: Mapping[int, Sequence[int]]
) -> dict[int, ChunkLinks]:
    """Return only mention links: to the chunks that mention a name, also those of documents about it."""
    return _USUAL(request, (), naming)


def _to_documents(
    request: LinkRequest, about: Sequence[SubjectChunk], naming: Mapping[int, Sequence[int]]
) -> dict[int, ChunkLinks]:
    """Return only definition links: those to the documents about a name."""
    return _USUAL(request, about, {})


def ablated() -> dict[str, Changes]:
    """Return the changes of each row of the table."""
    rows: dict[str, Changes] = {
        "default": (),
        "no definition links": ((LinkRequest, "leads", _to_all_that_name), (SearchCache, "at", forgetful)),
        "no mention links": ((LinkRequest, "leads", _to_documents), (SearchCache, "at", forgetful)),
        "no clauses": ((question, "clauses", lambda text: (text,)),),
        "no coverage order": ((evidence, "COVERAGE", 0.0),),
        "no hop": ((evidence, "HOPS", 0),),
        "one hop": ((evidence, "HOPS", 1),),
    }
    starts = [one for one in (3, 6, 10) if one != evidence.STARTS]
    return rows | {f"{one} starts": ((evidence, "STARTS", one),) for one in starts}


def ablations(options: argparse.Namespace) -> Results:
    """Measure recall@5 without each part."""
    results: Results = {"hops": evidence.HOPS, "starts": evidence.STARTS, "rows": {}}

    def note(row: str, name: str, searcher: Any, how: str = "graph") -> None:
        value = evaluate(searcher, questions(name, options), how).scores.recall[4]
        results["rows"].setdefault(row, {})[name] = value
        console.print(f"{name:16} {row:34} {value:.3f}")

    pathless = (
        (minirag, "RADIUS", 0),
        (minirag, "KEY_EDGES", 0),
        (minirag, "BEAM", replace(minirag.BEAM, length=0)),
    )
    for name in options.sets:
        with opened(name) as monograph:
            for row, changes in ablated().items():
                with changed(changes):
                    note(row, name, monograph)
            with Monograph.open(unresolved(monograph), read_only=True) as copy:
                note("no resolution of names", name, copy)
            note("faithful", name, Faithful(monograph))
            with changed(pathless):
                note("faithful, no entity–entity edges", name, Faithful(monograph))
            note("faithful, no entity–chunk edges", name, monograph, "dense")
    return results


def contextual(options: argparse.Namespace) -> Results:
    """Measure recall@5 and median latency with a contextual embedder, with and without the second step."""
    results: Results = {}
    for called, name, titled in rows_of([one for one in options.sets if one in MINILM_SETS]):
        row = results[called] = {}
        asked = questions(name, options)
        with opened(name, titled, MINILM) as monograph:
            runs: dict[str, tuple[Any, str, Changes]] = {
                "hybrid": (monograph, "hybrid", ()),
                "graph, one step": (monograph, "graph", ((OnnxEmbedder, "contextual", False),)),
                "graph": (monograph, "graph", ()),
                "auto": (monograph, "auto", ()),
                "faithful": (Faithful(monograph), "graph", ()),
            }
            for way, (searcher, how, changes) in runs.items():
                with changed(changes):
                    found = evaluate(searcher, asked, how)
                row[way] = {"questions": found.scores.questions, "recall@5": found.scores.recall[4], "p50": found.p50}
        told = "  ".join(f"{way} {one['recall@5']:.3f} {one['p50']:.1f} ms" for way, one in row.items())
        console.print(f"{name} {titled} {told}")
    return results


def sensitivity(options: argparse.Namespace) -> Results:
    """Measure other values of the parameters that MiniRAG leaves open: changed one at a time, and as in the paper."""
    radius, beam = minirag.RADIUS, minirag.BEAM

    def with_beam(**values: int) -> Changes:
        return ((minirag, "BEAM", replace(beam, **values)),)

    rows: dict[str, Changes] = {f"default: radius {radius}, {beam.kept} paths, length {beam.length}": ()}
    rows |= {f"radius {one}": ((minirag, "RADIUS", one),) for one in (1, 2, 3, 4) if one != radius}
    rows |= {f"{one} paths": with_beam(kept=one) for one in (4, 10, 50) if one != beam.kept}
    rows |= {f"k = {one}": ((minirag, "RADIUS", one), *with_beam(kept=one)) for one in (4, 10, 50)}
    rows |= {f"n = {one}": with_beam(length=one) for one in (2, 4, 8) if one != beam.length}
    results: Results = {row: {} for row in rows}
    for name in SENSITIVE_SETS:
        asked = questions(name, options)[:SENSITIVE_QUESTIONS]
        with opened(name) as monograph:
            for row, changes in rows.items():
                with changed(changes):
                    found = evaluate(Faithful(monograph), asked, "graph")
                results[row][name] = {"recall@5": found.scores.recall[4], "p50": found.p50}
                console.print(f"{name:16} {row:42} {found.scores.recall[4]:.3f} {found.p50:8.1f} ms")
    return results


def model(options: argparse.Namespace) -> Results:
    """Count the requests of Monograph and its rivals to a scripted language model."""
    sys.path.append(str(HERE.parent / "tests"))
    from support.model_server import ModelServer

    documents = dataset(MODEL_SET).documents[: max(2, round(MODEL_DOCUMENTS * options.scale)) + 1]
    texts = [(one.id, one.text) for one in documents]
    with ModelServer() as server:
        systems: Results = {"Monograph": graph_rivals.counted(server, _our_steps(server.url, documents))}
    for name in graph_rivals.RIVALS:
        with ModelServer() as server:
            systems[name] = graph_rivals.beside(name, server, texts, CACHE)
    for name, one in systems.items():
        console.print(f"{name}: {one.get('failed') or {step: one[step]['calls'] for step in graph_rivals.STEPS}}")
    words = statistics.mean(len(text.split()) for _, text in texts)
    return {"documents": len(texts) - 1, "words": words, "systems": systems}


def _our_steps(url: str, documents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    from monograph.derive.extract.llm import LLMExtractor
    from monograph.derive.extract.pattern import PatternExtractor
    from monograph.derive.openai_compatible import OpenAICompatible

    *first, last = documents
    after = replace(first[1], text=graph_rivals.edited(first[1].id, first[1].text)[1])
    path = CACHE / "model.mono"
    made.add(path)
    extractor = LLMExtractor(OpenAICompatible(url, "scripted"), PatternExtractor())
    with Monograph.open(fresh(path), embedder=StaticEmbedder(), extractor=extractor) as monograph:
        works: tuple[Callable[[], Any], ...] = (
            lambda: monograph.add(first),
            lambda: monograph.add([last]),
            lambda: monograph.add([last]),
            lambda: monograph.add([after]),
            lambda: monograph.remove([first[0].id]),
        )
        for step, work in zip(graph_rivals.STEPS, works, strict=True):
            report = work()
            yield step, f"{report.extracted} chunks" if report.extracted else ""


SECTIONS: dict[str, Callable[[argparse.Namespace], Results]] = {
    one.__name__: one
    for one in (recall, languages, ablations, relations, contextual, sensitivity, build, query, edit, model)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS), help="for recall and ablations")
    parser.add_argument("--questions", type=int, help="most questions of a set")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the passages of the other sections")
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    try:
        saved = CACHE / "results.json" if options.only else DOCS / "graph.json"
        results = run_sections(SECTIONS, options, saved, limits(options))
    finally:
        for path in made:
            fresh(path)
    for path in graph_report.write(results, DOCS):
        console.print(f"written: {path}")


def limits(options: argparse.Namespace) -> str:
    """Return how the options limit a run; empty for a complete run."""
    told = [f"at most {options.questions} questions a set"] if options.questions else []
    told += [f"only {', '.join(options.sets)}"] if len(options.sets) < len(SETS) else []
    told += [f"sizes x {options.scale:g}"] if options.scale != 1 else []
    return "; ".join(told)


if __name__ == "__main__":
    main()
