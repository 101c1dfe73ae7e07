"""Writing: texts of 300 words a second from a folder into a file, beside ragdb, and where the processor's time goes.

Each measurement is a process of its own; times of stages are the processor's, with what is compiled and with its twin.
Medians of the rounds: all systems take turns in each.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from graph_report import table
from machine import SHARED, console, run_sections
from page import NOISE, write_page

Results = dict[str, Any]
HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs" / "benchmarks"
CACHE = HERE.parent / "build" / "writing"
WORDS = 300
PART = 2_000
AT_ONCE = 1_000
"""So little text that all is made in one process: to start others takes half a second each."""
STAGES = """\
Microseconds of the processor for a text of 300 words, each stage with texts that it did not see before: in Python, and
compiled. The first rows are pieces, those with = are whole steps, in which the pieces are; the last is their sum."""
FOLDERS = """\
2,000 texts of 300 words, synced into a new file; all that is derived is in it: vectors, words, the graph. RAGdb makes no
vectors and no graph."""
GROWTH = """\
Microseconds of the processor for a passage of 80 words, with all that is derived, as 2,000 more come, 1,000 at a time. The
passages are those of four question sets in a fixed random order; after the first 25,000 come the same again, each with a
number: with names that are known."""
CORPORA = ("multihop-rag", "ultradomain-mix", "popqa-rebuilt")
TWIN = "import sys; sys.modules['monograph.text_pass._text_pass'] = None"
"""Run before all else, so that nothing compiled goes over a text."""


def words() -> Iterator[str]:
    """The words of the evaluation sets one after the other; made-up ones where they are absent."""
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


def processor() -> float:
    """Seconds of the processor so far, in this process and in those it waited for."""
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


class Clock:
    """Microseconds of the processor a text, by stage."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.spent: dict[str, float] = {}

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        started = time.process_time()
        made = work()
        self.spent[name] = (time.process_time() - started) / self.count * 1e6
        return made


def pieces(some: Sequence[str], clock: Clock) -> None:
    """What the pass does, piece by piece."""
    from monograph.derive.embed import StaticEmbedder
    from monograph.derive.extract.function_words import language_of
    from monograph.derive.extract.terms import key_phrases
    from monograph.derive.sentences import sentence_spans
    from monograph.derive.tokens import count_tokens
    from monograph.graph.text import sentence_starts, word_hashes
    from monograph.store.terms import Entry, indexed

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
    """All that is derived, step by step."""
    from monograph.derive.embed import StaticEmbedder
    from monograph.derive.extract.pattern import PatternExtractor
    from monograph.graph.build import document_part
    from monograph.settings import Settings
    from monograph.store.terms import Entry, indexed
    from monograph.values import Document
    from monograph.write.prepare import document_hash, prepare

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
    """Microseconds of the processor a text, stage by stage, each for texts that it did not see before."""
    every = texts(3 * count)
    clock = Clock(count)
    whole(every[:count], clock)  # Tables are loaded, common words known.
    clock.spent.clear()
    pieces(every[count : 2 * count], clock)
    whole(every[2 * count :], clock)
    return clock.spent


def sync(count: int, system: str) -> dict[str, float]:
    """A folder into a file: wall and processor."""
    with tempfile.TemporaryDirectory() as place:
        folder, path = Path(place) / "texts", Path(place) / "file"
        folder.mkdir()
        for number, text in enumerate(texts(count)):
            (folder / f"{number:05}.txt").write_text(text)
        before, started = processor(), time.perf_counter()
        if system == "ragdb":
            from ragdb import RAGdb

            with contextlib.redirect_stdout(io.StringIO()):  # it prints a line a file
                RAGdb(str(path)).ingest_folder(str(folder))
        else:
            from monograph import Monograph

            with Monograph.open(path) as archive:
                assert archive.sync(folder).added == count
        seconds = time.perf_counter() - started
        size = sum(one.stat().st_size for one in path.parent.glob("file*"))
    return {
        "texts a second": count / seconds,
        "processor, µs a text": (processor() - before) / count * 1e6,
        "file, bytes a text": size / count,
    }


def apart(part: str, count: int, *, twin: bool = False) -> dict[str, float]:
    """What one measurement gives in a process of its own."""
    code = f"{TWIN if twin else ''}\nimport runpy, sys\nsys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-c", code, __file__, "--part", part, "--count", str(count)]
    folder = str(Path(__file__).parent)
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def median(rounds: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}


def growth(count: int) -> dict[str, float]:
    """Passages of 80 words: the processor's microseconds a passage, by how many there are then."""
    from graph_files import mixture
    from monograph import Document, Monograph

    every = (word for document in mixture(2 * count) for word in document.text.split())
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place, Monograph.open(Path(place) / "file.mono") as archive:
        for first in range(0, count, PART):
            some = [Document(" ".join(islice(every, 80)), id=f"{number:07}") for number in range(first, first + PART)]
            before = processor()
            for start in range(0, PART, AT_ONCE):
                archive.add(some[start : start + AT_ONCE])
            found[str(first + PART)] = (processor() - before) / PART * 1e6
    return found


def in_turns(parts: dict[str, tuple[str, bool]], count: int, rounds: int) -> dict[str, dict[str, float]]:
    """Medians of the rounds of each part, (what, by the twin), under its name: all take turns in each round."""
    taken: dict[str, list[dict[str, float]]] = {}
    for _ in range(rounds):
        for name, (part, twin) in parts.items():
            taken.setdefault(name, []).append(apart(part, count, twin=twin))
    return {name: median(some) for name, some in taken.items()}


def all_stages(options: argparse.Namespace) -> Results:
    """Every stage, compiled and by its twin."""
    return in_turns({"compiled": ("stages", False), "twin": ("stages", True)}, options.count or 300, options.rounds)


def folders(options: argparse.Namespace) -> Results:
    """A folder into a file, by every system that is installed."""
    systems = ["monograph"]
    if find_spec("ragdb"):
        systems.append("ragdb")
    else:
        console.print("ragdb is not installed (pip install ragdb): its column is left out")
    return in_turns({name: (name, False) for name in systems}, options.count or 2_000, options.rounds)


def grown(options: argparse.Namespace) -> Results:
    """What a passage costs as the file grows, once."""
    return apart("growth", options.passages)


PARTS: dict[str, Callable[[int], dict[str, float]]] = {
    "stages": stages,
    "monograph": partial(sync, system="monograph"),
    "ragdb": partial(sync, system="ragdb"),
    "growth": growth,
}
SECTIONS: dict[str, Callable[[argparse.Namespace], Results]] = {
    "stages": all_stages,
    "folders": folders,
    "growth": grown,
}


def stages_told(found: Results) -> list[str]:
    fast, slow = found["compiled"], found["twin"]
    rows = [(name, f"{slow[name]:,.0f}", f"{fast[name]:,.0f}", f"{slow[name] / fast[name]:.1f}x") for name in fast]
    return [STAGES, table(("stage", "in Python", "compiled", "gain"), rows)]


def folders_told(found: Results) -> list[str]:
    return [
        FOLDERS,
        table(("", *found), [(key, *(f"{one[key]:,.0f}" for one in found.values())) for key in found["monograph"]]),
    ]


def growth_told(found: Results) -> list[str]:
    sizes = list(found)
    shown = [size for place, size in enumerate(sizes) if place in (0, 1) or int(size) % 10_000 == 0]
    late, early = (statistics.median(found[size] for size in some) for some in (sizes[-5:], sizes[1:6]))
    rows = [(f"{int(size):,}", f"{found[size]:,.0f}") for size in shown]
    return [
        GROWTH,
        table(("passages then", "µs a passage"), rows),
        f"The last five parts cost {late / early:.2f} times the second to sixth, by their medians. Whenever the vector"
        " index has doubled it is calibrated anew, which makes a part dearer by half and more, and ever rarer.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--count", type=int, default=0, help="texts; else 300 for stages, 2,000 for folders")
    parser.add_argument("--passages", type=int, default=50_000, help="how far a file grows")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--part", choices=list(PARTS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(PARTS[options.part](options.count)))
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    told = ((name, parser.get_default(name), getattr(options, name)) for name in ("count", "passages", "rounds"))
    limits = ", ".join(f"{name} {given:,}" for name, usual, given in told if given != usual)
    results = run_sections(SECTIONS, options, CACHE / "results.json", limits)
    sections = {
        "stages": ("Where the time goes", stages_told),
        "folders": ("A folder into a file", folders_told),
        "growth": ("As the file grows", growth_told),
    }
    for path in write_page(results, DOCS / "writing.md", "Writing, measured", sections, remark=NOISE):
        console.print(f"written: {path}")


if __name__ == "__main__":
    main()
