"""A shelf is opened where its address stands in the place of a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monograph.app.command import narrowed
from monograph.app.trust import opened, permission, remember

if TYPE_CHECKING:
    from monograph.shelf import Archive, Shelf

ArchiveArgument = Annotated[
    str,
    typer.Argument(metavar="FILE", help="The .mono file, or the address of a shelf.", show_default=False),
]

UrlArgument = Annotated[
    str,
    typer.Argument(metavar="URL", help="A folder, or s3://bucket/path, gs://, az://.", show_default=False),
]


def opened_archive(
    address: str, *, trust: bool = False, named: Iterable[str] = (), engine: str = "", **options: Any
) -> Archive:
    """Open the file or the shelf of an address, for its own models as :func:`monograph.app.trust.opened` does.

    A shelf is asked by an engine (:mod:`monograph.app.shelf_engine`), if none is named by what the environment says.
    ``options`` are those of :meth:`monograph.Monograph.open`; a shelf takes ``model`` and ``reranker`` of them.
    """
    # A file needs nothing of what a shelf is made of.
    if "://" in address or os.path.isdir(address):  # noqa: PTH112 - it need not be a path
        from monograph.shelf import is_shelf

        if is_shelf(address):
            from monograph.app.shelf_engine import LOCAL, VARIABLE, engines_of

            taken = {name: options[name] for name in ("model", "reranker") if name in options}
            engines = engines_of(engine or os.environ.get(VARIABLE) or LOCAL)
            return opened_shelf(address, trust=trust, named=named, engines=engines, **taken)
    return opened(Path(address), trust=trust, named=named, **options)


def opened_shelf(url: str, *, trust: bool = False, named: Iterable[str] = (), **options: Any) -> Shelf:
    """Open a shelf; its own models may ask the servers that its user has trusted with it, and no other.

    With ``trust`` these are from now on those as well that models ask that it is given, by their specs ``named``.
    """
    from monograph.shelf import Shelf

    if trust:
        from monograph.derive.addresses import addresses

        remember(known_as(url), dict.fromkeys(one for spec in named for one in addresses(spec)))
    return Shelf.open(url, trusted=permission(trust=trust, name=known_as(url)), **options)


def known_as(address: str) -> str:
    """What a shelf is called on the list of what is trusted: its shards have ids of their own each."""
    return address.rstrip("/") if "://" in address else os.path.abspath(address)  # noqa: PTH100 - as above


def narrowed_archive(archive: Archive, within: list[str] | None, as_of: str = "") -> Archive:
    """Return a file as --as-of and --within limit it, or a shelf. Raises NotOnShelf for a shelf with either."""
    if not within and not as_of:
        return archive
    from monograph.shelf import only_file

    return narrowed(only_file(archive, "history" if as_of else "views"), within, as_of)
