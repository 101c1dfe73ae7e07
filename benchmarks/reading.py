"""Benchmark of Monograph's and other readers: expected strings, citations, speed, syncs of unchanged folders, watching.

It takes half an hour and writes docs/benchmarks/reading.md. ``--small`` measures a tenth and writes no page.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

import reading_rivals
from machine import console, machine
from monograph import Limits, Monograph
from monograph.read.file import ReadTask
from monograph.read.pool import ReaderPool
from monograph.values import Root, WatchEvent, cite
from reading_headings import headings

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
SAMPLES = SHARED / "data" / "ingest-files"
PROSE = ("multihop-rag", "ultradomain-mix", "popqa-rebuilt")
PAGE = ROOT / "docs" / "benchmarks" / "reading.md"
FIGURES = PAGE.with_suffix(".json")
WORDS = 300
TEXTS = (
    "A text is a file of 300 words of real prose. *End to end* means that Monograph reads and embeds the files, finds "
    "names by patterns, and stores all in one file. *Watch* is `archive.files.watch`, which stores changes of a "
    "folder as they happen."
)
EXPECTED = (
    "The table shows how many of a file's expected strings each reader finds, and Monograph's time (the second of "
    "two tries). Monograph recognises text in images. The other readers run with defaults, without text "
    "recognition. SimpleDirectoryReader is part of LlamaIndex."
)
HEADINGS = (
    "Recall@5 in percent, with static word vectors; more is better. *Title alone* embeds each chunk with the title of "
    "its document. *With headings* adds the chunk's section headings. The texts are from SQuAD."
)


def at(folder: Path) -> Root:
    """Return the root of a folder at its first sync."""
    return Root(folder.name, str(folder))


def words() -> Iterator[str]:
    for name in PROSE:
        with gzip.open(SHARED / "data" / name / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                yield from json.loads(line)["text"].split()


def write_texts(folder: Path, count: int) -> int:
    """Write at most ``count`` different files of 300 words of real prose; return how many."""
    folder.mkdir()
    source = words()
    for number in range(count):
        some = [word for word, _ in zip(source, range(WORDS), strict=False)]
        if len(some) < WORDS:
            return number
        (folder / f"{number:05}.txt").write_text(" ".join(some))
    return count


def samples() -> list[dict[str, Any]]:
    """Return the samples: their file names, and the strings that must be found in them."""
    return list(json.loads((SAMPLES / "manifest.json").read_text()))


def expected_strings() -> list[list[Any]]:
    """Return [file, strings found, strings expected, seconds, error] of each sample; the error may be empty."""
    rows = []
    with ReaderPool(1) as crew:
        for entry in samples():
            for _ in range(reading_rivals.TRIES):
                started = time.perf_counter()
                parts = [part for _, part in crew.read([ReadTask(SAMPLES / entry["file"], at(SAMPLES), Limits())])]
                seconds = time.perf_counter() - started
            text = "\n".join(document.text for part in parts for document in part.documents)
            error = next((part.error.message for part in parts if part.error is not None), "")
            held = sum(string in text for string in entry["expected_strings"])
            rows.append([entry["file"], held, len(entry["expected_strings"]), seconds, error])
    return rows


def of_rivals(place: Path) -> dict[str, dict[str, list[float]]]:
    """Return [number of strings found, seconds] by rival and sample."""
    found: dict[str, dict[str, list[float]]] = {}
    for rival in reading_rivals.installed():
        known = found[rival.title] = {}
        for entry in samples():
            text, seconds = reading_rivals.measure(rival, SAMPLES / entry["file"], place)
            known[entry["file"]] = [sum(string in text for string in entry["expected_strings"]), seconds]
    return found


CITED = (
    ("pdf-borderless-table.pdf", "97.2%", "page 1"), ("pdf-scan-with-text-layer.pdf", "Johnston is coming with fifty", "page 1"),
    ("pdf-outline.pdf", "Contents", "page 1"), ("pptx-complex.pptx", "Our products lead the market", "slide 1"),
    ("xlsx-complex.xlsx", "Retention Rate", "sheet Customers"), ("xlsx-two-sheets.xlsx", "Maple Leafs; Location: TOR; Stanley Cups: 0", "sheet Stanley Cups Since 67"),
    ("csv-semicolon.csv", "Sheryl", "row 2"), ("json-elements.json", "These are a few of my favorite things:", "json $[0]"),
)  # fmt: skip


def citations(place: Path) -> list[list[str]]:
    """Return the citation of the chunk that contains each string."""
    rows = []
    with Monograph.open(place / "cited.mono") as monograph:
        monograph.sync(*(SAMPLES / name for name, _, _ in CITED))
        for name, string, wanted in CITED:
            found = [cite(one.metadata) for one in monograph.chunks(str(SAMPLES / name)) if string in one.text]
            rows.append(
                [name, string, found[0] if found else "not found", "yes" if found and wanted in found[0] else "no"]
            )
    return rows


def pdf_pages(seconds: float) -> float:
    """Return the pages per second of the PDFs with a text layer, in one process."""
    names = ["pdf-outline.pdf", "pdf-scan-with-text-layer.pdf", "pdf-receipt.pdf", "pdf-borderless-table.pdf"]
    pages, started = 0, time.perf_counter()
    with ReaderPool(1) as crew:
        list(crew.read([ReadTask(SAMPLES / names[0], at(SAMPLES), Limits())]))
        started = time.perf_counter()
        while time.perf_counter() - started < seconds:
            for _, part in crew.read([ReadTask(SAMPLES / name, at(SAMPLES), Limits()) for name in names * 8]):
                pages += sum(len(document.places) for document in part.documents)
        return pages / (time.perf_counter() - started)


def texts(place: Path, count: int) -> dict[str, float]:
    """Return the documents per second of a sync that derives everything, and its peak memory."""
    folder = place / "texts"
    real = write_texts(folder, count)
    process, most = psutil.Process(), [0]
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.05):
            most[0] = max(most[0], process.memory_info().rss)

    on_progress = threading.Thread(target=look)
    on_progress.start()
    with Monograph.open(place / "texts.mono") as monograph:
        monograph.add([])
        started = time.perf_counter()
        report = monograph.sync(folder)
        seconds = time.perf_counter() - started
    done.set()
    on_progress.join()
    return {
        "documents": real, "chunks": report.chunks_added, "seconds": seconds, "documents a second": real / seconds,
        "memory in MB": most[0] / 1e6,
    }  # fmt: skip


def ragdb_texts(place: Path) -> float | None:
    """Return the documents per second of RAGdb on the same folder, or None if it is not installed."""
    try:
        from ragdb import RAGdb
    except ImportError:
        return None
    count = len(list((place / "texts").iterdir()))
    with contextlib.redirect_stdout(io.StringIO()):
        rival = RAGdb(str(place / "rival.ragdb"))
        started = time.perf_counter()
        rival.ingest_folder(str(place / "texts"))
    return count / (time.perf_counter() - started)


def read_only(place: Path) -> dict[str, float]:
    """Return the texts per second of only reading: Monograph reads as in a sync, the rivals read file by file."""
    paths = sorted((place / "texts").iterdir())
    rates = []
    for _ in range(reading_rivals.TRIES):
        started = time.perf_counter()
        with ReaderPool(1) as crew:
            held = sum(
                len(part.documents)
                for _, part in crew.read([ReadTask(path, at(path.parent), Limits()) for path in paths])
            )
        rates.append(held / (time.perf_counter() - started))
    found = {"Monograph": max(rates)}
    for rival in reading_rivals.installed():
        if rival.name != "RAGdb":  # It cannot read without storing: see ragdb_texts.
            started = time.perf_counter()
            read = [reading_rivals.measure(rival, path, place) for path in paths[:300]]
            assert all(text for text, _ in read), rival.name
            found[rival.title] = len(read) / sum(seconds for _, seconds in read)
    return found


def unchanged(place: Path, count: int) -> dict[str, float]:
    """Return the seconds of syncs of ``count`` files: the first sync, without a change, and with one changed file."""
    folder = place / "many"
    for number in range(count):
        if number % 1000 == 0:
            (folder / str(number // 1000)).mkdir(parents=True)
        (folder / str(number // 1000) / f"{number}.txt").write_text("a note like all the others")
    with Monograph.open(place / "many.mono") as monograph:
        started = time.perf_counter()
        monograph.sync(folder)
        first = time.perf_counter() - started

        def timed(work: Callable[[], Any]) -> float:
            started = time.perf_counter()
            work()
            return time.perf_counter() - started

        nothing = [timed(lambda: monograph.sync(folder)) for _ in range(5)]
        one = []
        for number in range(5):
            (folder / "0" / "7.txt").write_text(f"a note changed {number}")
            one.append(timed(lambda: monograph.sync(folder)))
    return {"files": count, "first": first, "nothing": statistics.median(nothing), "one": statistics.median(one)}


def reaction(place: Path) -> float:
    """Return the median seconds from writing a file until the watch reports that it is stored."""
    folder = place / "watched"
    folder.mkdir()
    stop, told = threading.Event(), []
    with Monograph.open(place / "watched.mono") as monograph:

        def follow(events: Iterator[WatchEvent]) -> None:
            for one in events:
                told.append((one.uri, time.perf_counter()))  # noqa: PERF401 - each at its own time

        thread = threading.Thread(target=follow, args=(monograph.files.watch(folder, stop=stop),))
        thread.start()
        time.sleep(2)
        times = []
        for number in range(10):
            path = folder / f"{number}.txt"
            path.write_text(f"a note of number {number}")
            started = time.perf_counter()
            while (
                not any(path.name == uri.rpartition("/")[2] for uri, _ in told) and time.perf_counter() - started < 20
            ):
                time.sleep(0.01)
            times += [at - started for uri, at in told if path.name == uri.rpartition("/")[2]]
            time.sleep(0.5)
        stop.set()
        thread.join()
    return statistics.median(times)


def line(cells: list[Any]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def of_samples(found: dict[str, Any]) -> list[str]:
    """Return the table of samples in which a reader misses strings, and their number in all samples."""
    rivals = found["rivals"]
    samples = [row for row in found["samples"] if row[2]]
    lines, slowest = [], 0.0
    for name, held, asked, seconds, _ in samples:
        theirs = [known[name] for known in rivals.values()]
        if held < asked or any(count < asked for count, _ in theirs):
            lines.append(line([name, asked, held, f"{seconds:.2f}", *(count for count, _ in theirs)]))
            slowest = max([slowest, *(spent for _, spent in theirs)])
    sums = [sum(known[row[0]][0] for row in samples) for known in rivals.values()]
    asked, held = (sum(row[at] for row in samples) for at in (2, 1))
    return [
        line(["file", "strings", "Monograph", "Monograph, s", *rivals]),
        line(["---", *("---:" for _ in range(len(rivals) + 3))]),
        *lines,
        line([f"all {len(samples)} files", asked, held, "", *sums]),
        "",
        f"In the other {len(samples) - len(lines)} files, every reader finds every string. No other "
        f"reader takes more than {slowest:.2f} s for a file of the table.",
    ]


def of_citations(rows: list[list[str]]) -> str:
    """Return how many citations are correct, and those that are not."""
    wrong = [f' "{string}" of {name} is cited as {cited}.' for name, string, cited, correct in rows if correct != "yes"]
    return (
        "A citation names the place of a string in its file: a page, slide, sheet, row or JSON path. "
        f"{len(rows) - len(wrong)} of {len(rows)} citations are correct.{''.join(wrong)}"
    )


def page(found: dict[str, Any]) -> str:
    """Return the page of the documentation."""
    speed, many = found["texts"], found["unchanged"]
    rival = "not installed" if found["ragdb"] is None else f"{found['ragdb']:,.0f}"
    scan = next((row[3] for row in found["samples"] if row[0] == "pdf-scan-no-text-layer.pdf"), 0.0)
    rows = [
        ("end to end, texts a second: Monograph", f"{speed['documents a second']:,.0f}", "1,000"),
        ("end to end, texts a second: RAGdb", rival, ""),
        ("end to end, peak memory, MB", f"{speed['memory in MB']:,.0f}", ""),
        *((f"reading only, texts a second: {name}", f"{rate:,.0f}", "") for name, rate in found["read_only"].items()),
        ("PDF with a text layer, pages a second", f"{found['pdf']:,.0f}", "100"),
        ("OCR, seconds a scanned page", f"{scan / 3:.1f}", ""),
        (f"sync of {many['files']:,} unchanged files, seconds", f"{many['nothing']:.2f}", "3"),
        ("sync with one file changed, additional seconds", f"{max(0.0, many['one'] - many['nothing']):.2f}", "0.2"),
        ("watch, seconds until a change is stored", f"{found['reaction']:.2f}", "1"),
    ]
    head = (
        f"Machine: {found['machine']}. Written by `make bench-reading`. Other programs caused a load average of "
        f"{found['load']:.1f}."
    )
    recalls = [
        [mode, *(f"{100 * found['headings'][one][mode]:.1f}" for one in ("without", "with"))]
        for mode in found["headings"]["with"]
    ]
    return "\n".join(
        [
            "# Reading, measured", "", head, "",
            line(["measure", "measured", "goal"]), line(["---", "---:", "---:"]), *map(line, rows), "",
            TEXTS, "", "## Expected strings", "", EXPECTED, "", *of_samples(found), "", "## Headings", "", HEADINGS, "",
            line(["mode", "title alone", "with headings"]), line(["---", "---:", "---:"]), *map(line, recalls), "",
            "## Citations", "", of_citations(found["citations"]), "",
        ]
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a tenth of everything, and no page")
    parser.add_argument("--render", action="store_true", help="only make the page, from reading.json")
    options = parser.parse_args()
    small = options.small
    if options.render:
        PAGE.write_text(page(json.loads(FIGURES.read_text())))
        return
    found: dict[str, Any] = {"machine": machine(), "load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        steps: list[tuple[str, Callable[[], Any]]] = [
            ("samples", expected_strings), ("citations", lambda: citations(place)), ("pdf", lambda: pdf_pages(1 if small else 5)),
            ("texts", lambda: texts(place, 300 if small else 3_000)), ("ragdb", lambda: ragdb_texts(place)),
            ("read_only", lambda: read_only(place)), ("rivals", lambda: of_rivals(place)), ("unchanged", lambda: unchanged(place, 3_000 if small else 100_000)),
            ("reaction", lambda: reaction(place)), ("headings", lambda: headings(SHARED / "data" / "squad", place)),
        ]  # fmt: skip
        for name, work in steps:
            started = time.perf_counter()
            found[name] = work()
            console.print(f"{name}: {time.perf_counter() - started:.1f} s")
    console.print(page(found))
    if not small:
        FIGURES.write_text(json.dumps(found, indent=1) + "\n")
        PAGE.write_text(page(found))


if __name__ == "__main__":
    main()
