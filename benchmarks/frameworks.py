"""Benchmark of vector stores of LlamaIndex and LangChain, through the frameworks' interfaces.

Each store has its own process and gets the same texts, ids, vectors and questions. Missing rivals are
skipped. ``--stores`` without a store measures nothing, and writes the page from frameworks.json.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from machine import SHARED, console, machine, show
from monograph import Monograph, Settings
from monograph.derive.embed.static import StaticEmbedder
from monograph.evaluate.datasets import load_dataset
from monograph.vectors.index import DEFAULT_TARGET_RECALL

BATCH = 1_000
PER_DOCUMENT = 10
STORES = ("llama-index monograph", "llama-index monograph 0.99", "llama-index simple", "llama-index chroma", "llama-index faiss",
          "llama-index lancedb", "langchain monograph", "langchain monograph 0.99", "langchain memory", "langchain chroma")  # fmt: skip


@dataclass(frozen=True)
class Data:
    """Texts of nodes and their vectors, vectors of queries, and the numbers of the ten nearest nodes to each query."""

    texts: list[str]
    vectors: np.ndarray
    queries: np.ndarray
    nearest: np.ndarray

    @property
    def ids(self) -> list[str]:
        return [f"node-{n}" for n in range(len(self.texts))]


@dataclass(frozen=True)
class Hands:
    """Operations of a store.

    ``add`` adds nodes from start to end. ``find`` returns the ids nearest to a vector. ``delete`` deletes a document of
    ten nodes. ``keep`` persists the store. ``inner`` searches without the framework. ``graph`` builds the graph.
    """

    add: Callable[[int, int], None]
    find: Callable[[list[float]], list[str]]
    delete: Callable[[int], None] | None
    keep: Callable[[], None]
    inner: Callable[[list[float]], Any] | None = None
    graph: Callable[[], Any] | None = None


def prepare(nodes: int, folder: Path) -> None:
    """Store the texts of two corpora and their static word vectors. The queries are questions of the first corpus."""
    dataset, more = (load_dataset(SHARED / "data" / name) for name in ("hotpotqa", "2wikimultihopqa"))
    found = (document.text.strip() for document in (*dataset.documents, *more.documents))
    texts = list(dict.fromkeys(text for text in found if text))[:nodes]
    if len(texts) < nodes:
        raise SystemExit(f"there are only {len(texts):,} texts")
    embedder = StaticEmbedder()
    vectors = embedder.embed(texts)
    queries = embedder.embed([question.question for question in dataset.questions[:200]], "query")
    nearest = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
    np.savez(
        folder / "data.npz", texts=np.array(texts, dtype=object), vectors=vectors, queries=queries, nearest=nearest
    )


def load(folder: Path) -> Data:
    held = np.load(folder / "data.npz", allow_pickle=True)
    return Data(list(held["texts"]), held["vectors"], held["queries"], held["nearest"])


def target(name: str) -> float:
    """Return the target recall in a Monograph store's name, else the default."""
    return float(name.partition(" ")[2] or DEFAULT_TARGET_RECALL)


def llama(name: str, data: Data, folder: Path) -> Hands:
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
    from llama_index.core.vector_stores.types import VectorStoreQuery

    keep: Callable[[], None] = lambda: None  # noqa: E731
    inner = graph = None
    if name.startswith("monograph"):
        from llama_index.vector_stores.monograph import EcoVectorStore

        store: Any = EcoVectorStore(
            Monograph.open(folder / "a.mono", settings=Settings(graph=False), target_recall=target(name))
        )
        inner = lambda vector: store.client.search("", 10, how="dense", vector=vector)  # noqa: E731
        graph = store.client.graph.build
    elif name == "simple":
        from llama_index.core.vector_stores import SimpleVectorStore

        kept = folder / "simple.json"
        store = SimpleVectorStore.from_persist_path(str(kept)) if kept.exists() else SimpleVectorStore()
        keep = lambda: store.persist(str(kept))  # noqa: E731
    elif name == "chroma":
        import chromadb
        from llama_index.vector_stores.chroma import ChromaVectorStore

        client = chromadb.PersistentClient(str(folder / "chroma"), chromadb.Settings(anonymized_telemetry=False))
        store = ChromaVectorStore(client.get_or_create_collection("nodes", metadata={"hnsw:space": "cosine"}))
    elif name == "faiss":
        import faiss
        from llama_index.vector_stores.faiss import FaissMapVectorStore

        kept = folder / "faiss.bin"
        if kept.exists():
            store = FaissMapVectorStore.from_persist_path(str(kept))
        else:
            flat = faiss.IndexIDMap2(faiss.IndexFlatIP(data.vectors.shape[1]))
            store = FaissMapVectorStore(faiss_index=flat)
        keep = lambda: store.persist(str(kept))  # noqa: E731
    else:
        from llama_index.vector_stores.lancedb import LanceDBVectorStore

        store = LanceDBVectorStore(
            uri=str(folder / "lance"), mode="append" if (folder / "lance").exists() else "create"
        )

    def add(start: int, end: int) -> None:
        store.add(
            [
                TextNode(
                    id_=f"node-{n}",
                    text=data.texts[n],
                    embedding=data.vectors[n].tolist(),
                    metadata={"number": n},
                    relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"doc-{n // PER_DOCUMENT}")},
                )
                for n in range(start, end)
            ]
        )

    def find(vector: list[float]) -> list[str]:
        return list(store.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=10)).ids)

    def delete(document: int) -> None:
        store.delete(f"doc-{document}")

    return Hands(add, find, None if name in ("faiss", "lancedb") else delete, keep, inner, graph)


def chain(name: str, data: Data, folder: Path) -> Hands:
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings

    class Given(Embeddings):
        """Embedder that returns the known vector of each text, so no store spends time on embedding."""

        known = dict(zip(data.texts, data.vectors, strict=True))  # noqa: RUF012

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            # The graph's names are embedded too, and have no known vector.
            return [self.known.get(text, data.vectors[0]).tolist() for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return data.queries[0].tolist()

    keep: Callable[[], None] = lambda: None  # noqa: E731
    inner = graph = None
    if name.startswith("monograph"):
        from langchain_monograph import EcoVectorStore, LangChainEmbedder

        embedder = LangChainEmbedder(Given(), dimension=data.vectors.shape[1])
        opened = Monograph.open(folder / "b.mono", embedder, settings=Settings(graph=False), target_recall=target(name))
        store: Any = EcoVectorStore(opened)
        inner = lambda vector: opened.search("", 10, how="dense", vector=vector)  # noqa: E731
        graph = opened.graph.build
    elif name == "memory":
        from langchain_core.vectorstores import InMemoryVectorStore

        kept = folder / "memory.json"
        store = InMemoryVectorStore.load(str(kept), Given()) if kept.exists() else InMemoryVectorStore(Given())
        keep = lambda: store.dump(str(kept))  # noqa: E731
    else:
        from langchain_chroma import Chroma

        store = Chroma(
            "nodes", Given(), persist_directory=str(folder / "chroma-lc"), collection_metadata={"hnsw:space": "cosine"}
        )

    def add(start: int, end: int) -> None:
        store.add_documents(
            [Document(id=f"node-{n}", page_content=data.texts[n], metadata={"number": n}) for n in range(start, end)]
        )

    def find(vector: list[float]) -> list[str]:
        return [str(one.id) for one in store.similarity_search_by_vector(vector, k=10)]

    def delete(document: int) -> None:
        store.delete([f"node-{n}" for n in range(document * PER_DOCUMENT, (document + 1) * PER_DOCUMENT)])

    return Hands(add, find, delete, keep, inner, graph)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    value = work()
    return time.perf_counter() - started, value


def hands_of(store: str, data: Data, folder: Path) -> Hands:
    framework, _, name = store.partition(" ")
    return llama(name, data, folder) if framework == "llama-index" else chain(name, data, folder)


def fill(store: str, folder: Path) -> dict[str, Any]:
    """Add the nodes to a store, query it, delete documents and persist it; return the costs and the recall."""
    import psutil

    data = load(folder)
    before = psutil.Process().memory_info().rss
    hands = hands_of(store, data, folder)
    count = len(data.texts)
    added, _ = timed(lambda: [hands.add(start, min(start + BATCH, count)) for start in range(0, count, BATCH)])
    lists = [vector.tolist() for vector in data.queries]
    for vector in lists:
        hands.find(vector)
    asked, bare = [], []
    for vector in lists:  # alternately, so that other load on the machine affects both alike
        asked.append(timed(lambda vector=vector: hands.find(vector)))
        bare += [timed(lambda vector=vector: hands.inner(vector))[0]] if hands.inner else []
    right = sum(
        len(set(found) & {f"node-{n}" for n in row})
        for (_, found), row in zip(asked, data.nearest.tolist(), strict=True)
    )
    memory = psutil.Process().memory_info().rss - before
    gone = [timed(lambda n=n: hands.delete(n))[0] for n in range(20)] if hands.delete else []
    hands.keep()
    kept = sum(one.stat().st_size for one in folder.rglob("*") if one.is_file() and one.name != "data.npz")
    return {
        "add_seconds": added,
        "query_ms": 1_000 * statistics.median(seconds for seconds, _ in asked),
        "recall": right / (10 * len(lists)),
        "core_ms": 1_000 * statistics.median(bare) if bare else None,
        "delete_ms": 1_000 * statistics.median(gone) if gone else None,
        "rss_mb": memory / 1e6,
        "node_bytes": kept / count,
        "graph_seconds": timed(hands.graph)[0] if hands.graph else None,
    }


def reopen(store: str, folder: Path) -> dict[str, Any]:
    """Return the milliseconds to open the stored data and answer one query, without imports."""
    data = load(folder)
    vector = data.queries[0].tolist()
    with tempfile.TemporaryDirectory() as other:
        # A query to a copy imports all modules that a query needs, and fills no cache of the store itself.
        hands_of(store, data, shutil.copytree(folder, Path(other) / "copy")).find(vector)
    seconds, found = timed(lambda: hands_of(store, data, folder).find(vector))
    assert found
    return {"reopen_ms": 1_000 * seconds}


@dataclass(frozen=True)
class Row:
    store: str
    add_seconds: float
    query_ms: float
    recall: float
    core_ms: float | None
    delete_ms: float | None
    rss_mb: float
    node_bytes: float
    graph_seconds: float | None
    reopen_ms: float


def worked(job: str, store: str, folder: Path) -> dict[str, Any] | None:
    command = [sys.executable, __file__, "--job", job, "--store", store, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else str(done.returncode)
        console.print(f"{store}: left out ({reason})")
        return None
    return dict(json.loads(done.stdout.splitlines()[-1]))


def rows(stores: list[str], nodes: int, repeats: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as prepared:
        prepare(nodes, Path(prepared))
        for store in stores:
            runs: list[dict[str, Any]] = []
            for _ in range(repeats):
                with tempfile.TemporaryDirectory() as made:
                    folder = Path(made)
                    shutil.copy(Path(prepared) / "data.npz", folder)
                    filled = worked("fill", store, folder)
                    again = worked("reopen", store, folder) if filled is not None else None
                if filled is None or again is None:
                    break
                runs.append(filled | again)
            if len(runs) == repeats:
                yield Row(store, **{name: _middle([run[name] for run in runs]) for name in runs[0]})


def _middle(values: list[Any]) -> Any:
    return None if values[0] is None else statistics.median(values)


HEADINGS = ("store", "add, s", "query p50, ms", "recall@10", "delete a document, ms", "reopen and ask, ms", "growth of RSS, MB", "on disk, bytes a node")  # fmt: skip
UNLISTED = ("langchain monograph 0.99",)
"""Stores that the page omits."""


def cells(row: Row) -> list[str]:
    def number(value: float | None, form: str) -> str:
        return "—" if value is None else format(value, form)

    return [row.store, number(row.add_seconds, ".1f"), number(row.query_ms, ".2f"), number(row.recall, ".3f"),
            number(row.delete_ms, ".1f"), number(row.reopen_ms, ",.0f"), number(row.rss_mb, ".0f"),
            number(row.node_bytes, ",.0f")]  # fmt: skip


def page(found: dict[str, Any], repeats: int) -> str:
    """Return the page as Markdown."""
    listed = [Row(**one) for one in found["rows"] if one["store"] not in UNLISTED]
    lines = [
        "# Stores of the frameworks, measured",
        "",
        f"Machine: {found['machine']}. Written by `make bench-frameworks`; the figures are in",
        "[frameworks.json](frameworks.json).",
        "",
        f"Each store gets {found['nodes']:,} nodes from the corpora of HotpotQA and 2WikiMultihopQA, ten nodes per document, with",
        "static word vectors (256 values). Then each of 200 questions asks for the ten nearest nodes through the framework's",
        "interface. Each question is asked twice, and the second time counts. Figures are medians of",
        f"{repeats} runs. Less is better, except for recall. `monograph 0.99` has `target_recall=0.99`; the default is 0.95.",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "| --- " + "| ---: " * (len(HEADINGS) - 1) + "|",
        *("| " + " | ".join(cells(row)) + " |" for row in listed),
        "",
        "- `add`: Monograph also indexes the words of the nodes, and writes each batch to disk before the call returns. The",
        "  stores in memory (simple, faiss, memory) write to disk once, after the measured time.",
        "- `delete a document`: in LlamaIndex, the FAISS store cannot delete by document, and the LanceDB store fails.",
        "- `reopen and ask` is the time to open the store and answer one query, after all imports.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--stores", nargs="*", default=list(STORES), help="none: only write the page anew")
    parser.add_argument("--write", type=Path, help="folder for frameworks.md and frameworks.json")
    parser.add_argument("--job", choices=("fill", "reopen"))
    parser.add_argument("--store")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.job:
        print(json.dumps((fill if options.job == "fill" else reopen)(options.store, options.folder)))
        return
    if options.stores:
        measured = list(rows(options.stores, options.nodes, options.repeats))
        show(f"{options.nodes:,} nodes", HEADINGS, [cells(row) for row in measured])
        found = {"machine": machine(), "nodes": options.nodes, "rows": [asdict(row) for row in measured]}
        if options.write:
            (options.write / "frameworks.json").write_text(json.dumps(found, indent=2) + "\n")
    if options.write:
        figures = json.loads((options.write / "frameworks.json").read_text())
        (options.write / "frameworks.md").write_text(page(figures, options.repeats))


if __name__ == "__main__":
    main()
