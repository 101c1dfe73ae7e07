"""Opening of the file or shelf that a command names: key, trusted models, and the engine of a shelf."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from monograph.app import output
from monograph.app.command import combine_filters
from monograph.app.options import ENGINE_VARIABLE
from monograph.derive.loading import addresses, normal
from monograph.errors import InputError, MonographError
from monograph.values.arguments import shown

if TYPE_CHECKING:
    from monograph.library import Reader
    from monograph.library.monograph import Monograph
    from monograph.shelf import Archive, Shelf, Tasks
    from monograph.shelf.engines import Engines

LOCAL = "local"
KEY_VARIABLE = "MONOGRAPH_KEY"
TRUSTED_VARIABLE = "MONOGRAPH_TRUSTED"
"""Environment variable with the addresses of models that every file may use, separated by spaces.

The address of a model is the URL of its server or the path of its folder: see
:func:`monograph.derive.loading.addresses`.
"""

_writing = threading.Lock()


@contextmanager
def opened_archive(
    address: str,
    within: list[str] | None = None,
    as_of: str = "",
    *,
    trust: bool = False,
    engine: str = "",
    **options: Any,
) -> Iterator[Archive]:
    """Yield the open file or shelf at an address, and close it at the end of the ``with`` statement.

    See also :func:`opened`.

    Parameters
    ----------
    within, as_of:
        View and snapshot to which a file is limited: see :func:`narrow`. If one is given for a shelf, NotOnShelf is
        raised.
    engine:
        Text that names the engine of a shelf: see :func:`engines_of`. By default the environment variable
        ENGINE_VARIABLE has this text.
    options:
        Further arguments of :meth:`monograph.Monograph.open`. A shelf uses only ``model`` and ``reranker``.
    """
    # The modules of shelves are not imported for a file.
    if "://" in address or os.path.isdir(address):  # noqa: PTH112 - it need not be a path
        from monograph.shelf import is_shelf, only_file

        if is_shelf(address):
            shelf_options = {name: options[name] for name in ("model", "reranker") if name in options}
            engines = engines_of(engine or os.environ.get(ENGINE_VARIABLE) or LOCAL)
            with opened_shelf(address, trust=trust, engines=engines, **shelf_options) as shelf:
                if within or as_of:
                    only_file(shelf, "history" if as_of else "views")
                yield shelf
            return
    with opened(Path(address), trust=trust, **options) as file:
        yield narrow(file, within, as_of)


def narrow(file: Reader, within: list[str] | None, as_of: str) -> Reader:
    """Return a file limited to the snapshot of ``as_of`` (--as-of) and the view of ``within`` (--within), if given."""
    where = combine_filters(within or [])
    part = file.as_of(as_of) if as_of else file
    return part if where is None else part.within(where)


def opened_shelf(url: str, *, trust: bool = False, **options: Any) -> Shelf:
    """Open a shelf. It may use only models at trusted addresses. With ``trust``, the addresses become trusted."""
    from monograph.shelf import Shelf

    return Shelf.open(url, trusted=permission_of_shelf(url, trust=trust), **options)


def permission_of_shelf(url: str, *, trust: bool, named: Iterable[str] = ()) -> Callable[[str, str], bool]:
    """Return a function that takes a file id and a model's address, and returns whether a shelf may use the model.

    See :func:`permission`. ``named`` has texts that name models, such as ``openai:URL#MODEL``. With ``trust``, the
    addresses of these models become trusted at once. The list of trusted addresses has the URL or path of the shelf in
    place of a file id, because each shard has another id.
    """
    name = url.rstrip("/") if "://" in url else os.path.abspath(url)  # noqa: PTH100 - it need not be a path
    if trust:
        remember(name, (address for spec in named for address in addresses(spec)))
    return permission(trust=trust, name=name)


def engines_of(written: str) -> Engines:
    """Parse a text such as ``local`` or ``ray:replicas=2``, and return the function that creates a shelf's engine.

    The engine searches the shards. Raises InputError if the engine or an option is unknown, or a value is invalid.
    """
    from monograph.shelf.engines import local
    from monograph.shelf.ray_engine import OnRay

    name, options = _engine(
        written,
        {"replicas": int, "groups": int, "deadline": float},
        "write local, ray, or ray:replicas=2,groups=4,deadline=30",
    )
    return local if name == LOCAL else partial(OnRay, **options)


def tasks_of(written: str) -> Tasks | None:
    """Return the settings of the tasks that build shards, from a text such as ``ray:cpus=2``; None for ``local``.

    Raises
    ------
    InputError
        If the text cannot be understood.
    MissingExtra, ShelfUnreachable
        If Ray is not installed, or does not start.
    """
    from monograph.shelf import Tasks

    name, options = _engine(written, {"cpus": float}, "write local, ray, or ray:cpus=2")
    return None if name == LOCAL else Tasks(**options)


def _engine(written: str, ray: Mapping[str, Callable[[str], Any]], hint: str) -> tuple[str, dict[str, Any]]:
    """Return (engine, {option: value}) of a text such as ``ray:cpus=2``. ``ray`` has a converter for each option."""
    name, _, rest = written.partition(":")
    try:
        kinds = {LOCAL: {}, "ray": ray}[name]
        options = dict(part.split("=", 1) for part in rest.split(",")) if rest else {}
        return name, {key.strip(): kinds[key.strip()](value) for key, value in options.items()}
    except (ValueError, KeyError):
        raise InputError(f"{shown(written)} is not an engine", hint) from None


def list_of_trusted() -> Path:
    """Return the path of the list of trusted addresses: a line of JSON for each pair of file (or shelf) and address."""
    return Path(typer.get_app_dir("monograph")) / "trusted.jsonl"


def opened(
    file: Path, *, trust: bool = False, named: Iterable[str] = (), create: bool = False, **options: Any
) -> Monograph:
    """Open a file with its key. The models that the file names may use only addresses that the user has trusted.

    ``named`` has texts that name further models, such as ``openai:URL#MODEL``. With ``trust``, the addresses of the
    file's models and of the further models become trusted permanently for this file. ``create`` and ``options`` are
    arguments of :meth:`monograph.Monograph.open`. Raises InputError if ``file`` is a shelf.
    """
    if os.path.isdir(file):  # noqa: PTH112 - of a path that the system does not take, Path.is_dir raises
        from monograph.shelf import is_shelf

        if is_shelf(file):
            hint = "see monograph shelf --help, or give a file"
            raise InputError(f"{file} is a shelf, which this command does not accept", hint)
    from monograph.library.monograph import Monograph

    monograph = Monograph.open(file, trusted=permission(trust=trust), key=key_of(file), create=create, **options)
    try:
        if trust:
            stats = monograph.stats()
            remember(stats.id, [*stats.addresses, *(address for spec in named for address in addresses(spec))])
    except BaseException:
        monograph.close()
        raise
    return monograph


def permission(*, trust: bool = False, name: str = "") -> Callable[[str, str], bool]:
    """Return a function that takes a file id and a model's address, and returns whether the file may use the model.

    A file may use a model whose address is trusted. With ``trust``, every address that the function receives becomes
    trusted. If ``name`` is not empty, the list of trusted addresses has ``name`` in place of the file id. So files that
    belong together, such as the shards of a shelf, share their trusted addresses.
    """

    def may_open(identity: str, address: str) -> bool:
        owner = name or identity
        everywhere = set(map(normal, os.environ.get(TRUSTED_VARIABLE, "").split()))
        if address in everywhere or (owner, address) in _trusted():
            return True
        if trust:
            remember(owner, [address])
        return trust

    return may_open


def remember(identity: str, requested: Iterable[str]) -> None:
    """Print addresses that become trusted for a file or shelf; store them in the list unless ``identity`` is empty."""
    path = list_of_trusted()
    with _writing:
        trusted = set(_trusted())
        new = [address for address in dict.fromkeys(requested) if (identity, address) not in trusted]
        lines = "".join(json.dumps({"file": identity, "address": address}) + "\n" for address in new)
        try:
            if new and identity:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                # A single appending write keeps the lines of several processes apart.
                with path.open("ab", buffering=0) as file:
                    file.write(lines.encode())
        except OSError as error:
            raise MonographError(
                f"cannot write {path}: {error.strerror or error}",
                f"list the addresses in the variable {TRUSTED_VARIABLE}, separated by spaces",
            ) from error
    message = "from now on" if identity else "this time only, because the file cannot be written"
    for address in new:
        output.print_line(f"trusted {message}: {address}", stderr=True)


def _trusted() -> Iterator[tuple[str, str]]:
    """Yield (file id or shelf, address) for each line of :func:`list_of_trusted`."""
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
    """Return the key for a file: the value of ``MONOGRAPH_KEY`` if it is set.

    Otherwise, if the file looks encrypted and standard input is a terminal, ask the user for the key. Return None in
    all other cases.
    """
    key = os.environ.get(KEY_VARIABLE) or None
    if key is None and sys.stdin.isatty():
        from monograph.store.file.encryption import may_be_encrypted

        if may_be_encrypted(file):
            return _prompt_key(f"key of {file}: ")
    return key


def key_to_decrypt(file: Path) -> str:
    """Return the key of an encrypted file. Raises InputError if neither the environment nor a terminal provides one."""
    key = os.environ.get(KEY_VARIABLE)
    if not key and not sys.stdin.isatty():
        raise InputError("no key was given", f"set {KEY_VARIABLE}, or run the command in a terminal, which asks for it")
    return key or _prompt_key(f"key of {file}: ")


def new_key(file: Path) -> str:
    """Return a new key for a file: the value of ``MONOGRAPH_KEY``, or a key that the user types twice.

    Raises InputError if the two typed keys differ, or if neither the environment nor a terminal provides a key.
    """
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
