"""What asks the shards of a shelf, as people name it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monograph.errors import InputError
from monograph.values.arguments import shown

if TYPE_CHECKING:
    from monograph.shelf.hold.engine import Engines

VARIABLE = "MONOGRAPH_ENGINE"
LOCAL = "local"

EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        envvar=VARIABLE,
        help="What asks the shards of a shelf: local, ray, or ray:replicas=2,groups=4,deadline=30; with partial=yes "
        "it answers without shards that cannot be had, and says so.",
        show_default=False,
    ),
]


def engines_of(written: str) -> Engines:
    """What a text names: ``local``, or ``ray``, with what is to be otherwise.

    Raises
    ------
    InputError
        If it cannot be understood.
    """
    from monograph.shelf.hold.engine import local
    from monograph.shelf.hold.on_ray import on_ray
    from monograph.shelf.hold.partial import partially

    name, _, rest = written.partition(":")
    kinds: dict[str, Callable[[str], Any]] = {"partial": _yes}
    if name == "ray":
        kinds |= {"replicas": int, "groups": int, "deadline": float}
    try:
        given = dict(one.split("=", 1) for one in rest.split(",")) if rest else {}
        options = {key.strip(): kinds[key.strip()](value) for key, value in given.items()}
    except (ValueError, KeyError):
        name = ""
    if name not in ("ray", LOCAL):
        raise InputError(
            f"{shown(written)} is no engine",
            "write local, ray, local:partial=yes, or ray:replicas=2,groups=4,deadline=30,partial=yes",
        )
    lenient = options.pop("partial", False)
    engines = local if name == LOCAL else partial(on_ray, **options)
    return partially(engines) if lenient else engines


def _yes(written: str) -> bool:
    return {"yes": True, "no": False}[written.strip()]
