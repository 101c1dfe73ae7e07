"""What models are asked through an open file stands in its ledger."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar

from monograph.library.opened import OpenFile
from monograph.spending import noting_pieces
from monograph.values import LedgerEntry

P = ParamSpec("P")
T = TypeVar("T")


def spending_pieces(file: OpenFile, pieces: Iterator[T]) -> Iterator[T]:
    """Enter in a file's ledger what models are asked for what comes piece by piece, also where it breaks off."""
    try:
        yield from noting_pieces(file.noted, pieces)
    finally:
        file.enter()


def spends(work: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """A method of a part of a file, in whose ledger it enters what models are asked meanwhile."""

    @functools.wraps(work)
    def spent(part: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with part._file.spending():
            return work(part, *args, **kwargs)

    return spent


def every(file: OpenFile) -> list[LedgerEntry]:
    """See :meth:`monograph.Monograph.costs`."""
    from monograph.store.file import costs

    file.only_whole("costs")
    file.enter()
    with file.database.read() as connection:
        return costs.every(connection)
