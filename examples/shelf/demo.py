"""Search a shelf of three files with Ray on this machine, kill one of its processes, and search again."""

import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

from monograph.app import output
from monograph.shelf import OnRay, Shelf, build

TEXTS = Path(__file__).parents[1] / "texts"
SHELF, HOME = Path("demo-shelf"), Path("demo-shelf-home")
QUESTIONS = ("Who discovered the comet?", "Was INV-2031 paid?", "Why was plate 4417 lost?")


def holders() -> list[int]:
    """Return the ids of Ray's processes that hold shards."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):  # The process has just ended.
            if folder.name.isdecimal() and (folder / "cmdline").read_bytes().startswith(b"ray::ShardActor"):
                found.append(int(folder.name))
    return sorted(found)


def ask(shelf: Shelf) -> list[str]:
    """Ask all questions, show the first hit and the time of each, and return the chunk ids of the hits."""
    found = []
    for question in QUESTIONS:
        begun = time.perf_counter()
        (hit,) = shelf.search(question, k=1)
        output.print_line(f"? {question}", style="bold green")
        output.print_line(f"  {hit.title or hit.uri}: {hit.text[:80]!r} ({(time.perf_counter() - begun) * 1e3:.0f} ms)")
        found.append(hit.chunk.id)
    return found


for folder in (SHELF, HOME):
    shutil.rmtree(folder, ignore_errors=True)
build(SHELF, sources=[TEXTS], shards=3, home=HOME)
with Shelf.open(SHELF, home=HOME) as made:
    stats = made.stats()
output.print_line(
    f"{SHELF}: version {stats.version}, {stats.documents} documents in shards of {stats.documents_by_shard}"
)
with Shelf.open(SHELF, home=HOME, engines=OnRay) as shelf:
    before = ask(shelf)
    processes = holders()
    killed = processes[0]
    os.kill(killed, signal.SIGKILL)
    output.print_line()
    output.print_line(f"process {killed} of {len(processes)}, which held a shard, is killed", style="bold red")
    if ask(shelf) != before:
        raise SystemExit("the answers are others than before")
    output.print_line()
    output.print_line(f"The same answers; process {(set(holders()) - set(processes)).pop()} holds it now.")
output.print_line("Next, type:", style="bold")
output.print_line(f'  monograph search {SHELF} "What did the lightning damage?"')
output.print_line(f"  monograph shelf stats {SHELF}")
