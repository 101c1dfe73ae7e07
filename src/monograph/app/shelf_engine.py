"""What asks the shards of a shelf, as people name it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from monograph.errors import InputError
from monograph.values.arguments import shown

if TYPE_CHECKING:
    from monograph.shelf.engines import Engines

VARIABLE = "MONOGRAPH_ENGINE"
LOCAL = "local"

EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        envvar=VARIABLE,
        help="What asks the shards of a shelf: local, ray, or ray:replicas=2,groups=4,deadline=30.",
        show_default=False,
    ),
]


def engines_of(written: str) -> Engines:
    """What a text names: ``local``, or ``ray`` with what is to be otherwise.

    Raises
    ------
    InputError
        If it cannot be understood.
    """
    from monograph.shelf.engines import local
    from monograph.shelf.on_ray import on_ray

    name, _, rest = written.partition(":")
    kinds = {"replicas": int, "groups": int, "deadline": float}
    try:
        if written == LOCAL:
            return local
        given = dict(one.split("=", 1) for one in rest.split(",")) if rest else {}
        options = {key.strip(): kinds[key.strip()](value) for key, value in given.items()}
    except (ValueError, KeyError):
        name = ""
    if name != "ray":
        raise InputError(f"{shown(written)} is no engine", "write local, ray, or ray:replicas=2,groups=4,deadline=30")
    return partial(on_ray, **options)
