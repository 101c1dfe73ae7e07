"""Benchmark of a shelf: rounds, bytes and CPU time per question, building, the overhead of Ray.

``make bench-shelf`` writes docs/benchmarks/shelf.md; ``--only work`` measures one section. The files are kept in
build/shelf. Two cores cannot show that many machines are faster than one. So the page shows CPU time and rounds, and
models the time on many machines.
"""

from __future__ import annotations

import argparse
import json
import pickle
import shutil
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from machine import console, run_sections
from monograph import Monograph
from monograph.library.opened import OpenOptions
from monograph.shelf import Shelf, build
from monograph.shelf.engines import Engine, Local
from monograph.shelf.manifest import Manifest
from monograph.shelf.shard import Call
from monograph.shelf.storage import ShelfPlace
from monograph.values import Progress
from page import NOISE, write_page
from search import passages, questions
from shelf_ray import SHARDS as RAY_SHARDS
from shelf_ray import ray_section, told_ray
from vector_report import table

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / "build" / "shelf"
PAGE = HERE.parent / "docs" / "benchmarks" / "shelf.md"
K = 10
PASSAGES = 10_000
SHARDS = (1, 4, 16)
SHOWN = (0, 16)
"""Numbers of shards that the page shows; 0 is one file."""
MILLION = 1_000_000
MILLION_SHARDS = 8
MACHINES = 100
HOW = ("lexical", "hybrid", "graph")
Results = dict[str, Any]


class Counting(Local):
    """Engine that asks shards one after the other and measures the CPU time of each."""

    def __init__(self, files: Sequence[OpenOptions]) -> None:
        super().__init__(files)
        self.forget()

    def forget(self) -> None:
        self.rounds = self.out = self.back = 0
        self.busy: list[float] = [0.0] * len(self._shards)
        self.longest = 0.0

    def ask(self, wanted: Mapping[int, Call]) -> dict[int, Any]:
        self.rounds += 1
        answers, times = {}, []
        for shard, asked in wanted.items():
            begun = time.thread_time()
            answers[shard] = asked.answer(self._shards[shard])
            times.append(time.thread_time() - begun)
            self.busy[shard] += times[-1]
            self.out += len(pickle.dumps(asked))
            self.back += len(pickle.dumps(answers[shard]))
        self.longest += max(times, default=0.0)
        return answers


def engines(place: ShelfPlace, version: Manifest, given: OpenOptions) -> Engine:
    return Counting([given_at(given, place.file_of(name)) for name in version.shards])


def given_at(given: OpenOptions, path: Path) -> OpenOptions:
    return OpenOptions(path, target_recall=given.target_recall, cache_bytes=given.cache_bytes)


def one_file(count: int) -> tuple[Path, float]:
    """Return the file of ``count`` passages, and the CPU seconds to write it (0 if it existed)."""
    path, spent = CACHE / f"{count}.mono", 0.0
    if not path.exists():
        begun = time.process_time()
        with Monograph.open(path) as archive:
            archive.add(passages(count))
        spent = time.process_time() - begun
    return path, spent


def shelf_of(count: int, shards: int) -> tuple[Shelf, Results]:
    """Return a shelf of the same passages, with CPU seconds to write and to publish it, and wall seconds."""
    place, home = CACHE / f"{count}-{shards}", CACHE / f"{count}-{shards}-home"
    told = CACHE / f"{count}-{shards}.json"
    if place.exists():
        return Shelf.open(place, home=home, engines=engines), json.loads(told.read_text())
    part = CACHE / "part"
    shutil.rmtree(part, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)
    begun, since, written = time.process_time(), time.perf_counter(), [0.0]

    def note(_: Progress) -> None:
        written[0] = time.process_time()

    build(part, passages(count), shards=shards, home=home, progress=note)
    published = time.process_time()
    seconds = time.perf_counter() - since
    built = {"written": written[0] - begun, "published": published - written[0], "seconds": seconds}
    told.write_text(json.dumps(built))
    part.rename(place)
    shutil.rmtree(home, ignore_errors=True)
    return Shelf.open(place, home=home, engines=engines), built


def published_again(shelf: Shelf, count: int) -> float:
    """Return the CPU seconds to replace one document of a shelf and publish the change."""
    changed = next(iter(passages(count)))
    begun = time.process_time()
    build(shelf.url, [replace(changed, text=f"{changed.text} It was changed.")], home=shelf._place.home)
    return time.process_time() - begun


def work(_: argparse.Namespace) -> Results:
    """Measure rounds, bytes and CPU time of questions, on one file and on shelves of the same passages."""
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE / f"{PASSAGES}.mono").unlink(missing_ok=True)
    path, spent = one_file(PASSAGES)
    asked, others = questions(), questions(begin=40)
    rows: list[Results] = []
    same = {}
    with Monograph.open(path) as one:
        rows += [{"shards": 0, "how": how, **of_file(one, how, asked, others)} for how in HOW]
        costs = [{"shards": 0, "written": spent, "published": 0.0, "bytes": path.stat().st_size}]
        for shards in SHARDS:
            shutil.rmtree(CACHE / f"{PASSAGES}-{shards}", ignore_errors=True)
            shelf, built = shelf_of(PASSAGES, shards)
            rows += [{"shards": shards, "how": how, **of_shelf(shelf, how, asked, others)} for how in HOW]
            same[shards] = {how: sum(_ids(one, text, how) == _ids(shelf, text, how) for text in asked) for how in HOW}
            weight = shelf.stats().bytes
            costs.append({"shards": shards, **built, "again": published_again(shelf, PASSAGES), "bytes": weight})
            shelf.close()
    return {"rows": rows, "build": costs, "same": same, "questions": len(asked), "passages": PASSAGES}


def _ids(asked: Any, text: str, how: str) -> list[str]:
    return [hit.chunk.id for hit in asked.search(text, K, how)]


def of_file(archive: Monograph, how: str, asked: Sequence[str], others: Sequence[str]) -> Results:
    for text in others:
        archive.search(text, K, how)
    times = []
    for text in asked:
        begun = time.process_time()
        archive.search(text, K, how)
        times.append((time.process_time() - begun) * 1e3)
    return {"cpu": statistics.mean(times)}


def of_shelf(shelf: Shelf, how: str, asked: Sequence[str], others: Sequence[str]) -> Results:
    for text in others:
        shelf.search(text, K, how)
    engine = shelf._file.shards.engine
    assert isinstance(engine, Counting)
    engine.forget()
    begun, waited = time.process_time(), time.perf_counter()
    for text in asked:
        shelf.search(text, K, how)
    spent, waited = time.process_time() - begun, time.perf_counter() - waited
    count = len(asked)
    return {
        "rounds": engine.rounds / count,
        "out": engine.out / count,
        "back": engine.back / count,
        "coordinator": (spent - sum(engine.busy)) / count * 1e3,
        "shard": statistics.mean(engine.busy) / count * 1e3,
        "longest": engine.longest / count * 1e3,
        "waited": waited / count * 1e3,
    }


def million(_: argparse.Namespace) -> Results:
    """Measure writing, publishing and searching a million passages in eight shards."""
    CACHE.mkdir(parents=True, exist_ok=True)
    shelf, built = shelf_of(MILLION, MILLION_SHARDS)
    asked, others = questions(), questions(begin=40)
    found = {how: of_shelf(shelf, how, asked, others) for how in HOW}
    stats = shelf.stats()
    shelf.close()
    with Shelf.open(CACHE / f"{MILLION}-{MILLION_SHARDS}", home=CACHE / f"{MILLION}-{MILLION_SHARDS}-home") as threads:
        for text in others:
            threads.search(text, K)
        waits = {}
        for how in HOW:
            times = []
            for text in asked:
                start = time.perf_counter()
                threads.search(text, K, how)
                times.append((time.perf_counter() - start) * 1e3)
            waits[how] = statistics.median(times)
    return {
        "found": found, "waits": waits, **built,
        "bytes": stats.bytes, "documents": stats.documents, "chunks": stats.chunks, "entities": stats.entities,
    }  # fmt: skip


def told_work(found: Results) -> list[str]:
    rows = [
        [
            name_of(one["shards"]), one["how"], f"{one['rounds']:.1f}", kilobytes(one),
            f"{one['coordinator']:.2f}", f"{one['longest']:.2f}",
        ]
        if one["shards"]
        else [name_of(0), one["how"], "", "", f"{one['cpu']:.2f}", ""]
        for one in found["rows"]
        if one["shards"] in SHOWN
    ]  # fmt: skip
    same = {int(shards): one for shards, one in found["same"].items()}[SHARDS[-1]]
    costs = [
        [
            name_of(one["shards"]), f"{one['written']:.1f}", f"{one['published']:.1f}",
            f"{one['again']:.2f}" if one["shards"] else "", f"{one['bytes'] / 1e6:,.0f}",
        ]
        for one in found["build"]
        if one["shards"] in SHOWN
    ]  # fmt: skip
    return [
        f"{found['passages']:,} passages are in one file or divided among shards. {found['questions']} questions of "
        f"three sets are asked for {K} hits. All figures are means per question; less is better.\n\n"
        "- *rounds*: in a round, the coordinator (the process that searches) sends one request to each shard that has "
        "the wanted data, and waits for all replies.\n"
        "- *kB*: size of all requests and replies.\n"
        "- *coordinator*: CPU time of the coordinator without its shards. For one file, it is the whole search.\n"
        "- *longest*: CPU time of the slowest shard of each round, summed.\n\n"
        "If each shard has its own processor core, a question takes about *coordinator* + *longest* + *rounds* x the "
        "overhead of a round.",
        table(["files", "mode", "rounds", "kB", "coordinator, ms", "longest, ms"], rows),
        f"Of {found['questions']} questions, these find the same {K} hits in the same order in {SHARDS[-1]} shards as "
        f"in one file: {same['lexical']} lexical, {same['hybrid']} hybrid, {same['graph']} graph. Hybrid and graph "
        "hits can differ, because each shard searches its own clusters of vectors.",
        "*Publish* merges the names of all shards into entities. *Again* replaces one document: its shard is rebuilt, "
        "and the shelf published. Times are CPU seconds; less is better.",
        table(["files", "write, s", "publish, s", "again, s", "size, MB"], costs),
    ]


def name_of(shards: int) -> str:
    return f"{shards} shards" if shards else "one file"


def kilobytes(one: Results) -> str:
    return f"{(one['out'] + one['back']) / 1e3:.0f}"


def told_million(found: Results) -> list[str]:
    rows = [
        [
            how, f"{one['rounds']:.1f}", kilobytes(one), f"{one['coordinator']:.2f}", f"{one['longest']:.2f}",
            f"{found['waits'][how]:.1f}",
        ]
        for how, one in found["found"].items()
    ]  # fmt: skip
    return [
        f"The shelf has {found['documents']:,} documents and takes {found['bytes'] / 1e9:.1f} GB. Writing took "
        f"{found['written']:,.0f} CPU seconds and publishing {found['published']:,.0f}. The build took "
        f"{found['seconds'] / 60:.0f} minutes, while other programs used the machine. *p50* is the median time of a "
        "question.",
        table(["mode", "rounds", "kB", "coordinator, ms", "longest, ms", "p50, ms"], rows),
    ]


def model(_: argparse.Namespace) -> Results:
    """Model the time of a question on a hundred machines, from the other sections' figures."""
    held = json.loads((CACHE / "results.json").read_text())
    one = json.loads((PAGE.parent / "search.json").read_text())["1000000"]["found"]["ways"]
    rows = {(row["shards"], row["how"]): row for row in held["work"]["found"]["rows"] if row["shards"]}
    calls = held["ray"]["found"]["rounds"]
    each_more = (calls[f"Ray, {RAY_SHARDS}"] - calls["Ray, 1"]) / (RAY_SHARDS - 1)
    a_round = calls["Ray, 1"] + each_more * (MACHINES - 1)
    found = {}
    for how in HOW:
        # A straight line through the coordinator's time with 1, 4 and 16 shards.
        slope, begin = np.polyfit(SHARDS, [rows[shards, how]["coordinator"] for shards in SHARDS], 1)
        last = rows[SHARDS[-1], how]
        found[how] = {
            "coordinator": float(begin + slope * MACHINES),
            "rounds": last["rounds"],
            "waiting": last["rounds"] * a_round,
            "shard": one[how]["p50"],
            "back": last["back"] / SHARDS[-1] * MACHINES,
        }
    return {"found": found, "a_round": a_round, "machines": MACHINES}


def told_model(found: Results) -> list[str]:
    rows = [
        [
            how, f"{one['coordinator']:.1f}", f"{one['waiting']:.0f}", f"{one['shard']:.1f}",
            f"{one['coordinator'] + one['waiting'] + one['shard']:.0f}",
        ]
        for how, one in found["found"].items()
    ]  # fmt: skip
    network = 8 * max(one["back"] for one in found["found"].values()) / 1e6  # At 1 Gbit/s, a megabyte takes 8 ms.
    return [
        f"These figures are calculated, not measured: 100 million passages, a million on each of {found['machines']} "
        "machines. No shelf of this size has been tried.",
        table(["mode", "coordinator, ms", "waiting for rounds, ms", "slowest shard, ms", "total, ms"], rows),
        "The model makes these assumptions:\n\n"
        f"- The coordinator's time grows linearly with the number of shards, as it does from {SHARDS[0]} to "
        f"{SHARDS[-1]} shards.\n"
        f"- A round takes {found['a_round']:.0f} ms: a round of Ray with one shard, plus the measured increase for "
        "each further shard.\n"
        "- Each shard needs as much time as [one file of a million passages](search.md), and has its own processor.\n"
        f"- The network takes no time. At a gigabit a second, the replies take at most {network:.0f} ms more.\n\n"
        "The first limit of this design is the catalogue of names. It would have about 100 million names and take "
        "20 GB on the coordinator's disk.",
    ]


SECTIONS = {"work": work, "ray": ray_section, "million": million, "model": model}
TOLD = {
    "work": ("Work and rounds", told_work),
    "ray": ("Over Ray", told_ray),
    "million": (f"Many passages in {MILLION_SHARDS} shards", told_million),
    "model": ("A model of a hundred machines", told_model),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    results = run_sections(SECTIONS, options, CACHE / "results.json", "")
    for path in write_page(results, PAGE, "A shelf, measured", TOLD, remark=NOISE):
        console.print(f"{path} written")


if __name__ == "__main__":
    sys.exit(main())
