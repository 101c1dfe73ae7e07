"""The ``--engine`` option: names of the engines that call the shards of a shelf."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from monograph.errors import InputError
from monograph.values.arguments import shown

if TYPE_CHECKING:
    from monograph.shelf import Tasks
    from monograph.shelf.engines import Engines

LOCAL = "local"


def engines_of(written: str) -> Engines:
    """Return the engine that a text names: ``local``, or ``ray`` with its options.

    Raises
    ------
    InputError
        If the text cannot be understood.
    """
    from monograph.shelf.engines import local
    from monograph.shelf.ray_engine import OnRay

    name, options = _parse(
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

    name, options = _parse(written, {"cpus": float}, "write local, ray, or ray:cpus=2")
    return None if name == LOCAL else Tasks(**options)


_Kinds: TypeAlias = Mapping[str, Callable[[str], Any]]


def _parse(written: str, ray: _Kinds, hint: str) -> tuple[str, dict[str, Any]]:
    """Return the name of an engine, and its options."""
    name, _, rest = written.partition(":")
    try:
        kinds = {LOCAL: {}, "ray": ray}[name]
        options = dict(part.split("=", 1) for part in rest.split(",")) if rest else {}
        return name, {key.strip(): kinds[key.strip()](value) for key, value in options.items()}
    except (ValueError, KeyError):
        raise InputError(f"{shown(written)} is not an engine", hint) from None
