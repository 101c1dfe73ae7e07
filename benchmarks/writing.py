"""Benchmark of writing: texts per second from a folder into a file, compared with RAGdb, and processor time by stage.

Each measurement has its own process. Figures are medians of the rounds, in which all systems take turns.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from graph_report import table
from machine import CHILD_ENVIRONMENT, SHARED, console, run_sections
from monograph import Monograph
from page import NOISE, write_page
from search import write
from writing_files import bytes_of_nodes, contents, graph_alone, growth, processor

Results = dict[str, Any]
HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs" / "benchmarks"
CACHE = HERE.parent / "build" / "writing"
WORDS = 300
LEAST_BYTES = 400
"""The page omits tables with fewer bytes per node and per chunk."""
STAGES = """\
Processor time in microseconds to derive data from a text of 300 words; less is better."""
FOLDERS = """\
A folder of 2,000 texts of 300 words is synced into a new file. Monograph derives vectors, words and the graph. RAGdb
makes no vectors and no graph."""
RAGDBS = """\
The same comparison with the 1,000 documents of RAGdb's own experiment, which were generated again. A document has about
200 words."""
GROWTH = """\
Passages of 80 words from four question sets are added to one file with all derived data. Each row shows the processor
time over the last 2,000 passages; less is better. After 25,000 passages, the texts repeat with serial numbers, so
the file already knows their names."""
GRAPH = """\
Processor time in microseconds per passage, for 10,000 passages of 80 words. Monograph first stores only
vectors and words. On request, it then builds the graph and the trigrams of substring search."""
BYTES = f"""\
Bytes of each table with its indexes, per node or chunk. Tables below {LEAST_BYTES} bytes in both columns are
omitted. *A node* is a text of 80 words with a given vector of 384 dimensions, in a framework's vector store,
without a graph. *A chunk* is from the folder of 2,000 texts above, with all derived data. [The file
format](../reference/store-format.md) says what each table holds."""
LARGE = """\
Passages are written into one file with all derived data. The first 25,000 are those of four question sets. Each of
the others has 80 words, in random sentences of these sets. *Memory* is the private memory of the process that writes. [Searching](search.md#1000000-passages) has the times of searches in this file."""
LARGE_ROWS = ("passages", "minutes", "processor, µs a passage", "memory, MB", "file, bytes a passage")
STAGE_NAMES = {
    "= chunks cut": "chunks",
    "= vectors": "vectors",
    "= names by patterns": "names, by patterns",
    "= parts of the graph": "graph",
    "= folded": "words of the index",
    "all that is derived": "all",
}
"""Stages that the page shows, and their labels. The page omits the parts of these stages."""
GROWTH_SHOWN = ("2000", "10000", "50000", "100000")
CORPORA = ("multihop-rag", "ultradomain-mix", "popqa-rebuilt")


def words() -> Iterator[str]:
    """Yield the words of the evaluation sets, then made-up words without end."""
    for name in CORPORA:
        path = SHARED / "data" / name / "corpus.jsonl.gz"
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                for line in lines:
                    yield from json.loads(line)["text"].split()
    from ragdb_experiment import vocabulary

    chance = random.Random(7)
    known, weights = vocabulary(10_000, chance)
    while True:
        sentence = " ".join(chance.choices(known, weights, k=chance.randint(8, 18))).capitalize()
        yield from f"{sentence}.".split()


def texts(count: int) -> list[str]:
    every = words()
    return [" ".join(word for word, _ in zip(every, range(WORDS), strict=False)) for _ in range(count)]


class Clock:
    """Processor microseconds per text, by stage."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.spent: dict[str, float] = {}

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        started = time.process_time()
        made = work()
        self.spent[name] = (time.process_time() - started) / self.count * 1e6
        return made


def pieces(some: Sequence[str], clock: Clock) -> None:
    """Time parts of the steps that derive data."""
    from monograph.derive.embed.static import StaticEmbedder
    from monograph.derive.extract.function_words import language_of
    from monograph.derive.extract.pattern import key_phrases
    from monograph.derive.sentences import sentence_spans
    from monograph.derive.tokens import count_tokens
    from monograph.graph.text import sentence_starts, word_hashes
    from monograph.store.words.terms import Entry, indexed

    spans = clock("sentences", lambda: [sentence_spans(text) for text in some])
    parted = [text[first:last] for text, of in zip(some, spans, strict=True) for first, last in of]
    clock("tokens counted", lambda: count_tokens(parted))
    clock("vectors, of known words", lambda: StaticEmbedder().embed(some))
    clock("language", lambda: [language_of(text) for text in some])
    clock("key phrases", lambda: [list(key_phrases(text, "english")) for text in some])
    clock("words hashed", lambda: word_hashes(some))
    clock("rough sentences", lambda: [sentence_starts(text) for text in some])
    clock("folded for the index", lambda: [indexed(Entry(0, "", text)) for text in some])


def whole(some: Sequence[str], clock: Clock) -> None:
    """Time each step that derives data."""
    from monograph.derive.embed.static import StaticEmbedder
    from monograph.derive.extract.pattern import PatternExtractor
    from monograph.graph.build import document_part
    from monograph.settings import Settings
    from monograph.store.words.terms import Entry, indexed
    from monograph.values import Document
    from monograph.write.batch import document_hash, prepare

    embedder, extractor, settings = StaticEmbedder(), PatternExtractor(), Settings()
    documents = [Document(id=f"{place:05}", text=text) for place, text in enumerate(some)]
    work = [(document, document_hash(document, settings)) for document in documents]
    before = dict(clock.spent)
    cut = clock("= chunks cut", lambda: prepare(work, embedder, settings))
    chunks = [[chunk.text for chunk in one.chunks] for one in cut]
    clock("= vectors", lambda: embedder.embed([text for own in chunks for text in own]))
    found = clock("= names by patterns", lambda: [list(extractor.extract(one.chunks)) for one in cut])
    clock("= parts of the graph", lambda: [document_part("", *one, set()) for one in zip(chunks, found, strict=True)])
    clock("= folded", lambda: [indexed(Entry(0, "", text)) for own in chunks for text in own])
    clock.spent["all that is derived"] = sum(spent for name, spent in clock.spent.items() if name not in before)


def stages(count: int) -> dict[str, float]:
    """Return processor microseconds per text of each stage, on texts that the stage has not seen before."""
    every = texts(3 * count)
    clock = Clock(count)
    whole(every[:count], clock)  # This loads tables and caches common words.
    clock.spent.clear()
    pieces(every[count : 2 * count], clock)
    whole(every[2 * count :], clock)
    return clock.spent


def plain(folder: Path, count: int) -> None:
    """Write texts of 300 words as files."""
    folder.mkdir()
    for number, text in enumerate(texts(count)):
        (folder / f"{number:05}.txt").write_text(text)


def ragdbs(folder: Path, count: int) -> None:
    """Write the documents of RAGdb's own experiment as files."""
    from ragdb_experiment import corpus

    corpus(folder, count, 10_000, random.Random(7))


def sync(count: int, system: str, write: Callable[[Path, int], None]) -> dict[str, float]:
    """Sync a folder into a new file; return the texts per second, the processor time and the file size."""
    with tempfile.TemporaryDirectory() as place:
        folder, path = Path(place) / "texts", Path(place) / "file"
        write(folder, count)
        before, started = processor(), time.perf_counter()
        if system == "ragdb":
            from ragdb import RAGdb

            with contextlib.redirect_stdout(io.StringIO()):  # it prints a line for each file
                RAGdb(str(path)).ingest_folder(str(folder))
        else:
            with Monograph.open(path) as archive:
                assert archive.sync(folder).added == count
        seconds = time.perf_counter() - started
        size = sum(one.stat().st_size for one in path.parent.glob("file*"))
    return {
        "texts a second": count / seconds,
        "processor, µs a text": (processor() - before) / count * 1e6,
        "file, bytes a text": size / count,
    }


def apart(part: str, count: int) -> dict[str, float]:
    """Return the result of a measurement in its own process."""
    command = [sys.executable, __file__, "--part", part, "--count", str(count)]
    folder = str(Path(__file__).parent)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=folder, env=CHILD_ENVIRONMENT)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def median(rounds: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}


def in_turns(parts: dict[str, str], count: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return the medians of each part by its name. The parts take turns in each round."""
    taken: dict[str, list[dict[str, float]]] = {}
    for _ in range(rounds):
        for name, part in parts.items():
            taken.setdefault(name, []).append(apart(part, count))
    return {name: median(some) for name, some in taken.items()}


def synced(count: int) -> dict[str, float]:
    """Return the bytes per chunk, by table, after a sync of a folder of texts of 300 words."""
    with tempfile.TemporaryDirectory() as place:
        folder, path = Path(place) / "texts", Path(place) / "file.mono"
        plain(folder, count)
        with Monograph.open(path) as archive:
            archive.sync(folder)
            chunks = archive.stats().chunks
        return {name: size / chunks for name, size in contents(path).items()}


def beside_ragdb(part: str, count: int, rounds: int) -> Results:
    """Measure the sync of a folder by Monograph and, if it is installed, by RAGdb."""
    systems = ["monograph"]
    if find_spec("ragdb"):
        systems.append("ragdb")
    else:
        console.print("ragdb is not installed (pip install ragdb): its column is left out")
    return in_turns({name: f"{part} {name}" for name in systems}, count, rounds)


PARTS: dict[str, Callable[[int], dict[str, float]]] = {
    "stages": stages,
    "plain monograph": partial(sync, system="monograph", write=plain),
    "plain ragdb": partial(sync, system="ragdb", write=plain),
    "ragdbs monograph": partial(sync, system="monograph", write=ragdbs),
    "ragdbs ragdb": partial(sync, system="ragdb", write=ragdbs),
    "graph": graph_alone,
    "nodes": bytes_of_nodes,
    "synced": synced,
    "growth": growth,
    "large": write,
}
SECTIONS: dict[str, Callable[[argparse.Namespace], Results]] = {
    "stages": lambda options: in_turns({"found": "stages"}, options.count or 300, options.rounds),
    "folders": lambda options: beside_ragdb("plain", options.count or 2_000, options.rounds),
    "ragdbs": lambda options: beside_ragdb("ragdbs", 1_000, options.rounds),
    "graph": lambda options: in_turns({"found": "graph"}, options.count or 10_000, options.rounds),
    "bytes": lambda options: {
        "a node": apart("nodes", options.count or 10_000),
        "a chunk": apart("synced", options.count or 2_000),
    },
    "growth": lambda options: apart("growth", options.passages),
    "large": lambda options: apart("large", options.large),
}


def stages_told(found: Results) -> list[str]:
    rows = [(title, f"{found['found'][name]:,.0f}") for name, title in STAGE_NAMES.items()]
    return [STAGES, table(("stage", "µs a text"), rows)]


def folders_told(found: Results, about: str = FOLDERS) -> list[str]:
    rows = [(key, *(f"{one[key]:,.0f}" for one in found.values())) for key in found["monograph"]]
    return [about, table(("measure", *found), rows)]


def ragdbs_told(found: Results) -> list[str]:
    return folders_told(found, RAGDBS)


def growth_told(found: Results) -> list[str]:
    sizes = list(found)
    shown = [size for size in sizes if size in GROWTH_SHOWN]
    late, early = (statistics.median(found[size] for size in some) for some in (sizes[-5:], sizes[1:6]))
    rows = [(f"{int(size):,}", f"{found[size]:,.0f}") for size in shown]
    return [
        GROWTH,
        table(("passages", "µs a passage"), rows),
        f"The last 10,000 passages take {late / early:.2f} times as long as the passages from 2,000 to 12,000 (medians). "
        "Whenever the vector index has doubled, it is calibrated again. Then a step of 2,000 passages takes up to "
        f"{max(found.values()) / statistics.median(found.values()):.1f} times the median step.",
    ]


def graph_told(found: Results) -> list[str]:
    rows = [(name, f"{spent:,.0f}") for name, spent in found["found"].items()]
    return [GRAPH, table(("step", "µs a passage"), rows)]


def bytes_told(found: Results) -> list[str]:
    names = dict.fromkeys(name for one in found.values() for name in one if name not in ("in all", "log"))
    shown = [name for name in names if max(one.get(name, 0) for one in found.values()) >= LEAST_BYTES]
    last = ("in all",) if not any(one["log"] for one in found.values()) else ("in all", "log")
    rows = [(name, *(f"{one.get(name, 0):,.0f}" for one in found.values())) for name in (*shown, *last)]
    return [BYTES, table(("table", *found), rows)]


def large_told(found: Results) -> list[str]:
    rows = [(name, f"{found[name]:,.1f}" if found[name] < 100 else f"{found[name]:,.0f}") for name in LARGE_ROWS]
    return [LARGE, table(("measure", "value"), rows)]


TOLD = {
    "stages": ("Where the time goes", stages_told),
    "folders": ("A folder into a file", folders_told),
    "ragdbs": ("RAGdb's own documents", ragdbs_told),
    "graph": ("The graph, built later", graph_told),
    "bytes": ("Bytes by table", bytes_told),
    "growth": ("Cost as the file grows", growth_told),
    "large": ("A large file", large_told),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--count", type=int, default=0, help="texts; else 300 for stages, 2,000 for folders")
    parser.add_argument("--passages", type=int, default=100_000, help="how far a file grows")
    parser.add_argument("--large", type=int, default=1_000_000, help="passages of a large file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--part", choices=list(PARTS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(PARTS[options.part](options.count)))
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    told = (
        (name, parser.get_default(name), getattr(options, name)) for name in ("count", "passages", "large", "rounds")
    )
    limits = ", ".join(f"{name} {given:,}" for name, usual, given in told if given != usual)
    results = run_sections(SECTIONS, options, CACHE / "results.json", limits)
    for path in write_page(results, DOCS / "writing.md", "Writing, measured", TOLD, remark=NOISE):
        console.print(f"written: {path}")


if __name__ == "__main__":
    main()
