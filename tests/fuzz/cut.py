"""File, or index of its log, truncated under load: threads that read and write get errors, the process continues."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from fuzz import Case, Draw
from monograph import Document, Monograph
from monograph.errors import MonographError

TEXT = "Report {0} of keeper {0} at the lighthouse in Riga. "


@contextmanager
def cases(folder: Path) -> Iterator[Draw]:
    """Draw the file to truncate, the share of it that remains, and the number of operations before."""
    golden = folder / "golden.mono"
    with Monograph.open(golden) as opened:
        opened.add(Document(TEXT.format(at) * 60, id=f"d{at}") for at in range(60))

    def draw(chosen: random.Random) -> Case:
        suffix, share, after = chosen.choice(("", "-shm")), chosen.choice((0.0, 0.1, 0.5, 0.9)), chosen.randrange(30)
        return f"{suffix or 'file'} to {share} after {after}", partial(_cut, golden, folder, suffix, share, after)

    yield draw


def _cut(golden: Path, folder: Path, suffix: str, share: float, after: int) -> None:
    path = Path(shutil.copy(golden, folder / "cut.mono"))
    counted = itertools.count()
    faults: list[BaseException] = []
    with Monograph.open(path) as opened:

        def load(work: Callable[[int], object]) -> None:
            try:
                for at in range(60):
                    work(at)
                    if next(counted) == after:
                        place = path.with_name(path.name + suffix)
                        os.truncate(place, int(place.stat().st_size * share))
            except MonographError:  # SQLite takes unreadable data for zeros; a row without an id is refused.
                pass
            except BaseException as error:
                faults.append(error)

        works: list[Callable[[int], object]] = [
            lambda at: opened.search(f"keeper {at}", 5),
            lambda at: opened.add([Document(TEXT.format(at) * 20, id=f"new{at}")]),
            lambda _: [opened.document(one.id) for one in opened.documents()],
        ]
        threads = [threading.Thread(target=load, args=(one,)) for one in works]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert not faults, faults
    for name in ("", "-wal", "-shm"):
        path.with_name(path.name + name).unlink(missing_ok=True)
    if suffix:
        return
    raise MonographError("it was cut off")
