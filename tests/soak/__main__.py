"""The soak as a program: ``python -m soak`` in ``tests``, with all its parts, or ``python -m soak kills`` with one."""

from __future__ import annotations

import os
import sys

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TOKENIZERS_PARALLELISM"):
    os.environ[_name] = "false" if _name.startswith("TOKENIZERS") else "1"  # A process with threads is not forked.

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from monograph.store.file import encryption
from soak import crowd, damage, harm, kills, page, plant
from soak.process import Work, side_by_side
from soak.tally import Fault, Tally
from soak.warm import warm

encryption.ROUNDS = 1  # What a key costs is no part of this.
PARTS = ("kills", "crowd", "damage")
MOST_FAULTS = 20
"""After which a part ends."""
AT_ONCE = 20
"""Damaged files that are handed to a process together."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be done: where, how much of it, by what chance, and which single life or file alone."""

    folder: Path
    seed: int
    jobs: int
    kills: int
    seconds: float
    files: int
    life: int | None
    file: int | None
    plant: bool


def arguments(given: list[str]) -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(prog="python -m soak", description="Kills, a crowd, and damaged files.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all by default")
    parser.add_argument("--tenth", action="store_true", help="a tenth of everything")
    parser.add_argument("--seed", type=int, default=None, help="what chance is made of; another each time by default")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes side by side (not the crowd's)"
    )
    parser.add_argument("--kills", type=int, help="how many (1,000)")
    parser.add_argument("--seconds", type=float, help="how long the crowd is at it (600)")
    parser.add_argument("--files", type=int, help="how many are damaged (2,000)")
    parser.add_argument("--life", type=int, help="only this life of a file that is killed over")
    parser.add_argument("--file", type=int, help="only this damaged file")
    parser.add_argument("--folder", type=Path, help="where files lie; a temporary folder by default")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the record into a page")
    parser.add_argument("--plant", action="store_true", help="change files behind their back: all parts are to find it")
    options = parser.parse_args(given)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}: give some of {', '.join(PARTS)}")
    return options


def main(given: list[str]) -> int:
    """Run what is asked for; 1 where there is a fault."""
    options = arguments(given)
    share = 10 if options.tenth else 1
    asked = Asked(
        (options.folder or Path(tempfile.mkdtemp(prefix="soak-"))).resolve(),
        int(time.time()) % 1_000_000 if options.seed is None else options.seed,
        max(1, options.jobs),
        1_000 // share if options.kills is None else options.kills,
        600 / share if options.seconds is None else options.seconds,
        2_000 // share if options.files is None else options.files,
        options.life,
        options.file,
        options.plant,
    )
    asked.folder.mkdir(parents=True, exist_ok=True)
    console = Console()
    console.print(f"soak: seed {asked.seed}, files in {asked.folder}", highlight=False, soft_wrap=True)
    warm()
    ran = []
    for name in options.parts or PARTS:
        began = time.monotonic()
        ran.append(page.Ran(name, _run(name, asked, console), time.monotonic() - began))
        _show(ran[-1], console)
    if options.write is not None:
        page.write(options.write, ran, asked.seed)
    if any(one.tally.faults for one in ran):
        return 1
    shutil.rmtree(asked.folder)
    return 0


def _run(name: str, asked: Asked, console: Console) -> Tally:
    columns = TextColumn("{task.description:8}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    # No thread of its own: it would be forked.
    with Progress(*columns, console=console, auto_refresh=False) as progress:
        return {"kills": _kills, "crowd": _crowd, "damage": _damage}[name](asked, progress)


def _kills(asked: Asked, progress: Progress) -> Tally:
    shares = [min(kills.LIFE, asked.kills - before) for before in range(0, asked.kills, kills.LIFE)]
    lives = enumerate(shares) if asked.life is None else [(asked.life, asked.kills)]
    alter = plant.alter if asked.plant else None
    works: list[Work] = [
        partial(_live, asked.folder, asked.seed, number, share, alter) for number, share in lives
    ]  # fmt: skip
    return _gathered(works, asked, progress, "kills", asked.kills)


def _live(
    folder: Path, seed: int, number: int, share: int, alter: plant.Alter | None, tell: Callable[[int], None]
) -> Tally:
    return kills.live(folder, seed, number, share, tell, alter)


def _damage(asked: Asked, progress: Progress) -> Tally:
    known = harm.originals(asked.folder / "originals")
    numbers = range(asked.files) if asked.file is None else range(asked.file, asked.file + 1)
    alter = plant.alter if asked.plant else None
    works: list[Work] = [
        partial(damage.run, asked.folder, known, asked.seed, numbers[first : first + AT_ONCE], alter)
        for first in range(0, len(numbers), AT_ONCE)
    ]
    return _gathered(works, asked, progress, "damage", len(numbers))


def _gathered(works: list[Work], asked: Asked, progress: Progress, name: str, total: int) -> Tally:
    """What some works have done together; each tells of one step after the other."""
    tally, bar = Tally(), progress.add_task(name, total=total)

    def hear(_: object) -> None:
        progress.advance(bar)
        progress.refresh()

    with closing(side_by_side(works, asked.jobs, hear)) as outcomes:
        for outcome in outcomes:
            if isinstance(outcome.value, Tally):
                tally.include(outcome.value)
            else:
                tally.faults.append(Fault(name, f"{outcome.how}: {outcome.value}", f"{name} --seed {asked.seed}"))
            if len(tally.faults) >= MOST_FAULTS:
                break
    return tally


def _crowd(asked: Asked, progress: Progress) -> Tally:
    folder, began = asked.folder / "crowd", time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    bar = progress.add_task("crowd", total=round(asked.seconds))

    def tell(_: crowd.Said) -> None:
        done = min(asked.seconds, time.monotonic() - began)
        if round(done) > progress.tasks[bar].completed:
            progress.update(bar, completed=round(done))
            progress.refresh()

    return crowd.meet(folder, asked.seed, asked.seconds, tell, plant.alter if asked.plant else None)


def _show(ran: page.Ran, console: Console) -> None:
    for line in _lines(ran):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _lines(ran: page.Ran) -> Iterator[str]:
    yield from page.table(ran)
    yield f"{ran.name}: {len(ran.tally.faults)} faults in {ran.seconds:.0f} s"
    for fault in ran.tally.faults:
        yield f"FAULT {fault.where}\n  {fault.what}\n  again: cd tests && python -m soak {fault.again}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
