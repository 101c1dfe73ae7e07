"""Which models a user lets a file open that the file names itself: a list in the user's configuration folder."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from monograph.app import output
from monograph.app.keys import key_of
from monograph.derive.addresses import normal
from monograph.errors import InputError, MonographError

if TYPE_CHECKING:
    from monograph.library.monograph import Monograph

VARIABLE = "MONOGRAPH_TRUSTED"
"""The environment variable that lists addresses which any file may open, parted by spaces."""

_writing = threading.Lock()


def list_of_trusted() -> Path:
    """Where the list is: a line of JSON for each file, by its own id, or shelf, and address."""
    return Path(typer.get_app_dir("monograph")) / "trusted.jsonl"


def opened(file: Path, *, trust: bool = False, named: Iterable[str] = (), **options: Any) -> Monograph:
    """Open a file with its key; its own models open the addresses that its user has trusted, and no others.

    Parameters
    ----------
    file:
        The file.
    trust:
        Trust it, from now on, with all addresses that it names, and with those of ``named``.
    named:
        Specs of models that it is given.
    options:
        As for :meth:`monograph.Monograph.open`.
    """
    if os.path.isdir(file):  # noqa: PTH112 - of a path that the system does not take, Path.is_dir raises
        from monograph.shelf import is_shelf

        if is_shelf(file):
            raise InputError(f"{file} is a shelf, which this command does not take", "monograph shelf --help")
    from monograph.library.monograph import Monograph

    monograph = Monograph.open(file, trusted=permission(trust=trust), key=key_of(file), **options)
    try:
        if trust:
            from monograph.derive.addresses import addresses

            stats = monograph.stats()
            remember(stats.id, dict.fromkeys((*stats.addresses, *(one for spec in named for one in addresses(spec)))))
    except BaseException:
        monograph.close()
        raise
    return monograph


def permission(*, trust: bool = False, name: str = "") -> Callable[[str, str], bool]:
    """Whether a file of this id may open an address: one on the list or, from now on, any with ``trust``.

    ``name`` stands on the list for the ids of all files that belong together.
    """

    def may(identity: str, address: str) -> bool:
        known = name or identity
        everywhere = set(map(normal, os.environ.get(VARIABLE, "").split()))
        if address in everywhere or (known, address) in _trusted():
            return True
        if trust:
            remember(known, [address])
        return trust

    return may


def remember(identity: str, wanted: Iterable[str]) -> None:
    """Add addresses of a file to the list, and say so.

    Raises
    ------
    MonographError
        If the list cannot be written.
    """
    path = list_of_trusted()
    with _writing:
        known = set(_trusted())
        new = [address for address in wanted if (identity, address) not in known]
        if not (new and identity):
            _say("trusted this time, for the file cannot be written", new)
            return
        lines = "".join(json.dumps({"file": identity, "address": address}) + "\n" for address in new)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # One write at the end of the file: lines of several processes do not mix.
            with path.open("ab", buffering=0) as file:
                file.write(lines.encode())
        except OSError as error:
            raise MonographError(
                f"{path} cannot be written: {error.strerror or error}", f"list the addresses in the variable {VARIABLE}"
            ) from error
    _say("trusted from now on", new)


def _say(what: str, some: Iterable[str]) -> None:
    for address in some:
        output.console(stderr=True).print(f"{what}: {address}")


def _trusted() -> Iterator[tuple[str, str]]:
    """(id of a file, address) of every line that can be read."""
    path = list_of_trusted()
    try:
        lines = path.read_text("utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, UnicodeDecodeError) as error:
        raise MonographError(f"{path} cannot be read: {error}", "see to its permissions, or remove it") from error
    for number, line in enumerate(lines, start=1):
        try:
            one = json.loads(line)
            yield str(one["file"]), str(one["address"])
        except (ValueError, KeyError, TypeError) as error:
            raise MonographError(f"line {number} of {path} cannot be read", "remove it") from error
