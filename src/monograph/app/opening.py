"""Opening the file or shelf that a command names, with its key and the models that its user trusts."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monograph.app import output
from monograph.app.command import narrowed
from monograph.derive.loading import normal
from monograph.errors import InputError, MonographError

if TYPE_CHECKING:
    from monograph.library.monograph import Monograph
    from monograph.shelf import Archive, Shelf

ArchiveArgument = Annotated[
    str,
    typer.Argument(metavar="FILE", help="The .mono file, or the address of a shelf.", show_default=False),
]

UrlArgument = Annotated[
    str,
    typer.Argument(metavar="URL", help="The shelf: a folder, or s3://bucket/path, gs://, az://.", show_default=False),
]

KEY_VARIABLE = "MONOGRAPH_KEY"
TRUSTED_VARIABLE = "MONOGRAPH_TRUSTED"
"""Environment variable with addresses that every file may open, separated by spaces."""

_writing = threading.Lock()


def opened_archive(
    address: str, *, trust: bool = False, named: Iterable[str] = (), engine: str = "", **options: Any
) -> Archive:
    """Open the file or shelf at an address; its own models may open trusted addresses only, as in :func:`opened`.

    ``engine`` names the engine of a shelf (:mod:`monograph.app.shelf_engine`); by default the environment variable
    does. ``options`` are those of :meth:`monograph.Monograph.open`; a shelf uses only ``model`` and ``reranker``.
    """
    # The modules of shelves are not imported for a file.
    if "://" in address or os.path.isdir(address):  # noqa: PTH112 - it need not be a path
        from monograph.shelf import is_shelf

        if is_shelf(address):
            from monograph.app.shelf_engine import LOCAL, VARIABLE, engines_of

            shelf_options = {name: options[name] for name in ("model", "reranker") if name in options}
            engines = engines_of(engine or os.environ.get(VARIABLE) or LOCAL)
            return opened_shelf(address, trust=trust, named=named, engines=engines, **shelf_options)
    return opened(Path(address), trust=trust, named=named, **options)


def opened_shelf(url: str, *, trust: bool = False, named: Iterable[str] = (), **options: Any) -> Shelf:
    """Open a shelf; its own models may call only the servers that its user has trusted.

    With ``trust`` the servers of the models in ``named`` (specs) become trusted permanently.
    """
    from monograph.shelf import Shelf

    if trust:
        from monograph.derive.loading import addresses

        remember(known_as(url), dict.fromkeys(address for spec in named for address in addresses(spec)))
    return Shelf.open(url, trusted=permission(trust=trust, name=known_as(url)), **options)


def known_as(address: str) -> str:
    """Return the name of a shelf in the list of trusted addresses: its address, because each shard has its own id."""
    return address.rstrip("/") if "://" in address else os.path.abspath(address)  # noqa: PTH100 - as above


def narrowed_archive(archive: Archive, within: list[str] | None, as_of: str = "") -> Archive:
    """Return a file limited by --as-of and --within, or a shelf. Raises NotOnShelf for a shelf with either option."""
    if not within and not as_of:
        return archive
    from monograph.shelf import only_file

    return narrowed(only_file(archive, "history" if as_of else "views"), within, as_of)


def list_of_trusted() -> Path:
    """Return the path of the list of trusted addresses: a line of JSON for each pair of file (or shelf) and address."""
    return Path(typer.get_app_dir("monograph")) / "trusted.jsonl"


def opened(file: Path, *, trust: bool = False, named: Iterable[str] = (), **options: Any) -> Monograph:
    """Open a file with its key; its own models may open only the addresses that its user has trusted.

    Parameters
    ----------
    file:
        Path of the file.
    trust:
        Trust the file permanently with all addresses of its own models, and of the models in ``named``.
    named:
        Specs of the models that the command was given.
    options:
        As for :meth:`monograph.Monograph.open`.
    """
    if os.path.isdir(file):  # noqa: PTH112 - of a path that the system does not take, Path.is_dir raises
        from monograph.shelf import is_shelf

        if is_shelf(file):
            raise InputError(
                f"{file} is a shelf, which this command does not accept", "see monograph shelf --help, or give a file"
            )
    from monograph.library.monograph import Monograph

    monograph = Monograph.open(file, trusted=permission(trust=trust), key=key_of(file), **options)
    try:
        if trust:
            from monograph.derive.loading import addresses

            stats = monograph.stats()
            remember(
                stats.id, dict.fromkeys((*stats.addresses, *(address for spec in named for address in addresses(spec))))
            )
    except BaseException:
        monograph.close()
        raise
    return monograph


def permission(*, trust: bool = False, name: str = "") -> Callable[[str, str], bool]:
    """Return a function of (file id, address): whether the file may open the address.

    It may if the address is trusted; with ``trust`` every requested address becomes trusted. ``name`` replaces the ids
    of files that belong together, such as the shards of a shelf.
    """

    def may(identity: str, address: str) -> bool:
        owner = name or identity
        everywhere = set(map(normal, os.environ.get(TRUSTED_VARIABLE, "").split()))
        if address in everywhere or (owner, address) in _trusted():
            return True
        if trust:
            remember(owner, [address])
        return trust

    return may


def remember(identity: str, wanted: Iterable[str]) -> None:
    """Add addresses of a file to the list of trusted addresses, and print them.

    Raises
    ------
    MonographError
        If the list cannot be written.
    """
    path = list_of_trusted()
    with _writing:
        trusted = set(_trusted())
        new = [address for address in wanted if (identity, address) not in trusted]
        if not (new and identity):
            _print_addresses("trusted this time only, because the file cannot be written", new)
            return
        lines = "".join(json.dumps({"file": identity, "address": address}) + "\n" for address in new)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A single appending write keeps the lines of several processes apart.
            with path.open("ab", buffering=0) as file:
                file.write(lines.encode())
        except OSError as error:
            raise MonographError(
                f"cannot write {path}: {error.strerror or error}",
                f"list the addresses in the variable {TRUSTED_VARIABLE}, separated by spaces",
            ) from error
    _print_addresses("trusted from now on", new)


def _print_addresses(what: str, addresses: Iterable[str]) -> None:
    for address in addresses:
        output.console(stderr=True).print(f"{what}: {address}")


def _trusted() -> Iterator[tuple[str, str]]:
    """Yield (id of a file, trusted address) for every line of the list."""
    path = list_of_trusted()
    try:
        lines = path.read_text("utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, UnicodeDecodeError) as error:
        raise MonographError(f"cannot read {path}: {error}", "correct its permissions, or delete it") from error
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            yield str(entry["file"]), str(entry["address"])
        except (ValueError, KeyError, TypeError) as error:
            raise MonographError(f"cannot read line {number} of {path}", "delete this line") from error


def key_of(file: Path) -> str | None:
    """Return the key for a file: ``MONOGRAPH_KEY``, or the typed one if the file looks encrypted, or None."""
    key = os.environ.get(KEY_VARIABLE)
    if key or not sys.stdin.isatty():
        return key or None
    from monograph.store.file.encryption import may_be_encrypted

    if not may_be_encrypted(file):
        return None
    return _prompt_key(f"key of {file}: ")


def key_to_decrypt(file: Path) -> str:
    """Return the key of an encrypted file. Raises InputError if neither the environment nor a terminal provides one."""
    key = os.environ.get(KEY_VARIABLE)
    if key:
        return key
    if not sys.stdin.isatty():
        raise InputError("no key was given", f"set {KEY_VARIABLE}, or run the command in a terminal, which asks for it")
    return _prompt_key(f"key of {file}: ")


def new_key(file: Path) -> str:
    """Return a new key for a file; a typed key is asked for twice. Raises InputError as :func:`key_to_decrypt` does."""
    key = key_to_decrypt(file)
    if not os.environ.get(KEY_VARIABLE) and _prompt_key("the same key again: ") != key:
        raise InputError("the two keys differ", "type the same key twice")
    return key


def _prompt_key(prompt: str) -> str:
    from getpass import getpass

    try:
        return getpass(prompt)
    except EOFError as error:
        raise InputError("no key was given", f"type the key, or set {KEY_VARIABLE}") from error
