"""Soak test as a program: ``python -m soak`` in ``tests`` runs all parts, ``python -m soak kills`` one."""

from __future__ import annotations

import os
import sys

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TOKENIZERS_PARALLELISM"):
    os.environ[_name] = "false" if _name.startswith("TOKENIZERS") else "1"  # Only processes without threads may fork.

import argparse
import shutil
import tempfile
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from monograph.store.file import encryption
from soak import commands, crowd, damage, harm, kills
from soak.corpus import open_file
from soak.process import Work, run_parallel
from soak.record import Fault, Tally, replace_record
from soak.state import unlike_fresh_build

encryption.ROUNDS = 1  # The cost of deriving keys is not tested here.
PARTS = ("kills", "crowd", "damage")
MOST_FAULTS = 20
"""A part ends after this many faults."""
FILES_OF_A_PROCESS = 20
"""Number of damaged files that one process checks."""


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the options of a run; omitted amounts have their default, or with ``--tenth`` a tenth of it."""
    parser = argparse.ArgumentParser(prog="python -m soak", description="Kills, a crowd, and damaged files.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all by default")
    parser.add_argument("--tenth", action="store_true", help="a tenth of everything")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000, help="another each time by default")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes side by side (not the crowd's)"
    )
    parser.add_argument("--kills", type=int, help="how many (1,000)")
    parser.add_argument("--seconds", type=float, help="how long the crowd uses the file (600)")
    parser.add_argument("--files", type=int, help="how many are damaged (2,000)")
    parser.add_argument("--life", type=int, help="only this life of a file")
    parser.add_argument("--file", type=int, help="only this damaged file")
    parser.add_argument("--folder", type=Path, help="where files lie; a temporary folder by default")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the record into a page")
    parser.add_argument("--plant", action="store_true", help="change files behind their back: all parts must find it")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}: give some of {', '.join(PARTS)}")
    for name, usual in (("kills", 1_000), ("seconds", 600), ("files", 2_000)):
        if getattr(options, name) is None:
            setattr(options, name, usual // (10 if options.tenth else 1))
    return options


def main(arguments: list[str]) -> int:
    """Run the parts; return 1 if there is a fault."""
    options = parse(arguments)
    folder = (options.folder or Path(tempfile.mkdtemp(prefix="soak-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    console = Console()
    console.print(f"soak: seed {options.seed}, files in {folder}", highlight=False, soft_wrap=True)
    warm_up()
    tallies = []
    for part in options.parts or PARTS:
        began = time.monotonic()
        tally = run_part(part, folder, options, console)
        tally.seconds = time.monotonic() - began
        tallies.append(tally)
        lines = [*tally.table(), f"{part}: {len(tally.faults)} faults in {tally.seconds:.0f} s"]
        for fault in tally.faults:
            lines += [f"FAULT {fault.where}", f"  {fault.what}", f"  again: cd tests && python -m soak {fault.again}"]
        console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)
    if options.write is not None:
        options.write.write_text(replace_record(options.write.read_text(), tallies, options.seed))
    if any(tally.faults for tally in tallies):
        return 1
    shutil.rmtree(folder)
    return 0


def warm_up() -> None:
    """Run a short life in this process, so that children find all modules imported; no file stays open."""
    with tempfile.TemporaryDirectory() as folder:
        life = commands.Life(Path(folder) / "x.mono", Random(0))
        for make in (commands.create, commands.add, commands.sync, commands.put, commands.resummarize):
            command = make(life)
            command.run(life.path, lambda _: None)
            life.state = command.after
        with open_file(life.path) as monograph:
            assert kills.wrong_searches(monograph) == []
        assert kills.faults_at_end(life.path, life.state) == []
        assert unlike_fresh_build(life.path, life.state, [life.folder]) == []


def run_part(part: str, folder: Path, options: argparse.Namespace, console: Console) -> Tally:
    """Run a part with a progress bar."""
    columns = TextColumn("{task.description:8}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    # The progress bar must not start a thread, because this process forks.
    with Progress(*columns, console=console, auto_refresh=False) as progress:
        works: list[Work]
        if part == "crowd":
            bar, end = progress.add_task(part, total=round(options.seconds)), time.monotonic() + options.seconds

            def show_time(_: object) -> None:
                passed = round(min(options.seconds, options.seconds - end + time.monotonic()))
                if passed > progress.tasks[bar].completed:
                    progress.update(bar, completed=passed)
                    progress.refresh()

            return crowd.meet(folder / "crowd", options.seed, options.seconds, options.plant, show_time)
        if part == "kills":
            total, step = options.kills, kills.KILLS_OF_A_LIFE
            lives = enumerate(min(step, total - before) for before in range(0, total, step))
            works = [
                partial(kills.live, folder, options.seed, number, count, options.plant)
                for number, count in (lives if options.life is None else [(options.life, total)])
            ]
        else:
            known = harm.originals(folder / "originals")
            numbers = range(options.files) if options.file is None else range(options.file, options.file + 1)
            total, step = len(numbers), FILES_OF_A_PROCESS
            works = [
                partial(damage.run, folder, known, options.seed, numbers[first : first + step], options.plant)
                for first in range(0, total, step)
            ]
        tally, bar = Tally(part), progress.add_task(part, total=total)

        def show_step(_: object) -> None:
            progress.advance(bar)
            progress.refresh()

        with closing(run_parallel(works, max(1, options.jobs), show_step)) as outcomes:
            for outcome in outcomes:
                if isinstance(outcome.value, Tally):
                    tally.include(outcome.value)
                else:
                    tally.faults.append(Fault(part, str(outcome), f"{part} --seed {options.seed}"))
                if len(tally.faults) >= MOST_FAULTS:
                    break
        return tally


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
