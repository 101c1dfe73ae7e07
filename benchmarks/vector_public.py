"""Benchmark of dense search through public classes: ``Monograph.search``, and filters in both frameworks' stores.

``python benchmarks/vector_public.py`` prints the figures in two minutes; ``make bench-vectors`` puts them on the page.
The vectors are static word vectors (the default embedder) of sentences of the shared texts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import vector_data
from machine import show
from monograph import Document, Monograph, Passage, Settings
from monograph.derive.embed.static import StaticEmbedder
from vector_data import VectorSet
from vector_report import FILTERED_HEADINGS, PUBLIC_HEADINGS, at_recall, filtered_rows, public_rows

K = 10
WIDTHS = (10, 20, 30, 40, 60, 80, 120, 200)
PER_DOCUMENT = 10
AT_ONCE = 1_000
SHARES = {"all": "", "50 %": "half", "10 %": "tenth", "1 %": "hundredth", "0.1 %": "thousandth"}
"""Metadata key of the filter for each share of nodes that it allows."""
PARTS = {"half": 2, "tenth": 10, "hundredth": 100, "thousandth": 1_000}
Results = dict[str, Any]
Find = Callable[[Any], Sequence[str]]


def nearest(made: VectorSet, k: int, rows: Any = None) -> list[set[str]]:
    """Return the ids of the k true neighbours of each query, among all or some rows."""
    rows = np.arange(len(made.vectors)) if rows is None else rows
    scores = made.queries @ made.vectors[rows].T
    return [{str(row) for row in rows[best]} for best in np.argsort(-scores, axis=1)[:, :k]]


def timed(find: Find, queries: Sequence[Any], truth: Sequence[set[str]]) -> Results:
    """Return recall and p50 in µs of the second of two passes."""
    for _ in range(2):
        times, right = [], 0
        for query, best in zip(queries, truth, strict=True):
            begun = time.perf_counter()
            found = find(query)
            times.append(time.perf_counter() - begun)
            right += len(best.intersection(found))
    return {"recall": right / sum(map(len, truth)), "p50": float(np.median(times)) * 1e6}


def filled(path: Path, made: VectorSet) -> Monograph:
    """Return a new file of passages with given vectors, as a framework adds them."""
    archive = Monograph.open(path, settings=Settings(graph=False))
    for first in range(0, len(made.vectors), AT_ONCE):
        rows = range(first, min(first + AT_ONCE, len(made.vectors)))
        documents = [
            Document(
                id=f"document {start}",
                passages=tuple(
                    Passage(f"Sentence {row}.", id=str(row), vector=made.vectors[row])
                    for row in rows[start - first : start - first + PER_DOCUMENT]
                ),
            )
            for start in rows[::PER_DOCUMENT]
        ]
        archive.put(documents)
    return archive


def by_vector(made: VectorSet) -> Results:
    """Measure ``Monograph.search`` with a vector, and hnswlib at the same recall, in one process."""
    import hnswlib

    truth = nearest(made, K)
    rival = hnswlib.Index("ip", made.vectors.shape[1])
    rival.init_index(len(made.vectors), M=16, ef_construction=200, random_seed=1)
    rival.add_items(made.vectors)
    rival.set_num_threads(1)
    curve = []
    for width in WIDTHS:
        rival.set_ef(width)
        find = lambda query: [str(row) for row in rival.knn_query(query, K)[0][0].tolist()]  # noqa: E731
        curve.append({"dial": width, **timed(find, made.queries, truth)})
    with tempfile.TemporaryDirectory() as place, filled(Path(place) / "file.mono", made) as archive:
        ours = timed(
            lambda query: [hit.chunk.id for hit in archive.search("", K, how="dense", vector=query)],
            made.queries,
            truth,
        )
    p50, recall = at_recall(curve, ours["recall"])
    return {"vectors": len(made.vectors), "Monograph.search": ours, "hnswlib": {"recall": recall, "p50": p50}}


def by_question(count: int) -> Results:
    """Measure ``Monograph.search`` with a question, k = 5: it embeds the question and reads the hits."""
    embedder, asked = StaticEmbedder(), vector_data.questions()[:200]
    texts = vector_data.sentences()[:count]
    queries = embedder.embed(asked, "query")
    made = VectorSet("sentences", embedder.embed(texts, "document"), queries, "")
    with (
        tempfile.TemporaryDirectory() as place,
        Monograph.open(Path(place) / "file.mono", settings=Settings(graph=False)) as archive,
    ):
        archive.add([Document(text, id=str(row)) for row, text in enumerate(texts)])
        found = timed(
            lambda one: [hit.chunk.document_id for hit in archive.search(one, 5, how="dense")], asked, nearest(made, 5)
        )
    return {"texts": len(texts), **found}


def stores(place: Path, made: VectorSet) -> dict[str, Callable[[str, int], Find]]:
    """Fill both frameworks' stores with the same nodes; return functions from a filter (key, value) to a search."""
    from langchain_core.documents import Document as ChainDocument
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from llama_index.core.schema import TextNode
    from llama_index.core.vector_stores import MetadataFilter, MetadataFilters, VectorStoreQuery

    from langchain_monograph import EcoVectorStore as ChainStore
    from langchain_monograph import LangChainEmbedder
    from llama_index.vector_stores.monograph import EcoVectorStore

    rows = range(len(made.vectors))
    told = [{key: row % parts for key, parts in PARTS.items()} for row in rows]
    llama = EcoVectorStore(Monograph.open(place / "llama.mono", settings=Settings(graph=False)))
    llama.add(
        [
            TextNode(
                id_=str(row), text=f"Sentence {row}.", embedding=made.vectors[row].tolist(), metadata=dict(told[row])
            )
            for row in rows
        ]
    )

    class Given(DeterministicFakeEmbedding):
        """Embedder that returns the known vector of each text."""

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [made.vectors[int(text[9:-1])].tolist() for text in texts]

    size = made.vectors.shape[1]
    opened = Monograph.open(
        place / "chain.mono", LangChainEmbedder(Given(size=size), dimension=size), settings=Settings(graph=False)
    )
    chain = ChainStore(opened)
    chain.add_documents(
        [ChainDocument(id=str(row), page_content=f"Sentence {row}.", metadata=dict(told[row])) for row in rows]
    )

    def of_llama(key: str, value: int) -> Find:
        some = MetadataFilters(filters=[MetadataFilter(key=key, value=value)]) if key else None
        return lambda query: list(
            llama.query(VectorStoreQuery(query_embedding=query, similarity_top_k=K, filters=some)).ids or ()
        )

    def of_chain(key: str, value: int) -> Find:
        some = {key: value} if key else None
        return lambda query: [str(one.id) for one in chain.similarity_search_by_vector(query, k=K, filter=some)]

    return {"LlamaIndex": of_llama, "LangChain": of_chain}


def filtered(made: VectorSet) -> Results:
    """Measure searches of all nodes and of filtered shares: with one filter value, and with changing values."""
    queries, results = [query.tolist() for query in made.queries], {}
    with tempfile.TemporaryDirectory() as place:
        for store, search in stores(Path(place), made).items():
            results[store] = {}
            for said, key in SHARES.items():
                rows = np.arange(len(made.vectors))
                truth = nearest(made, K, rows[rows % PARTS[key] == 1] if key else rows)
                found = timed(search(key, 1), queries, truth)
                if key:
                    found["changing"] = changing(search, key, queries)
                results[store][said] = found
    return results


def changing(search: Callable[[str, int], Find], key: str, queries: Sequence[Any]) -> float:
    """Return p50 in µs if each question filters by another value than the question before."""
    times = []
    for place, query in enumerate(queries):
        find = search(key, place * 7 % PARTS[key])
        begun = time.perf_counter()
        find(query)
        times.append(time.perf_counter() - begun)
    return float(np.median(times)) * 1e6


def measured(many: int = 30_000, some: int = 10_000) -> Results:
    large, small = vector_data.static(many), vector_data.static(some)
    asked = slice(0, 400)
    large, small = (VectorSet(one.name, one.vectors, one.queries[asked], one.recipe) for one in (large, small))
    return {"by vector": by_vector(large), "by question": by_question(some), "filtered": filtered(small)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=30_000)
    options = parser.parse_args()
    found = measured(options.vectors, min(10_000, options.vectors))
    show("Through Monograph.search", PUBLIC_HEADINGS, public_rows(found))
    show("With filters", FILTERED_HEADINGS, filtered_rows(found))


if __name__ == "__main__":
    main()
