"""Numbers at and beyond the limits of each parameter of the HTTP API: each reply takes less than 1 s of CPU time."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import get_args

from fuzz import Case, Draw
from monograph import Monograph
from monograph.derive.loading import load_summarizer
from monograph.errors import InputError
from support.api_server import OPERATIONS, Client, Operation, serving
from support.paths import EXAMPLES

SECONDS = 1.0
"""Limit of CPU time, which does not depend on other programs."""
NUMBERS = (0, -1, 2**63, 1, 2**31, -(2**63), 100, 10**30)
STREAMS = ("/changes", "/job/events")
"""Event streams, which end only when the server ends."""


@contextmanager
def cases(folder: Path) -> Iterator[Draw]:
    """Draw requests to a served file."""
    path = folder / "bounds.mono"
    with Monograph.open(path, summarizer=load_summarizer("extractive")) as archive:
        archive.sync(EXAMPLES / "texts")
        document = archive.documents()[0].id
        told = {"id": document, "q": "Who found the comet?", "name": "Anna Calder", "other": "Tobias Renk"}
        with serving({"archive": archive}) as client:
            routes = [one for one in OPERATIONS if one.method == "GET" and one.path not in STREAMS]
            for route in routes:  # The first request loads data that later ones reuse.
                client.get(route.path, **{name: told[name] for name in route.parameters if name in told})

            def draw(chosen: random.Random) -> Case:
                route = chosen.choice([route for route in routes if _numbers(route)])
                asked: dict[str, object] = {name: told[name] for name in route.parameters if name in told}
                asked |= {name: chosen.choice(NUMBERS) for name in _numbers(route) if chosen.random() < 0.8}
                return f"{route.path} {asked}", partial(_ask, client, route, asked)

            yield draw


def _numbers(route: Operation) -> list[str]:
    return [
        name
        for name, field in route.parameters.items()
        if {int, float} & {field.annotation, *get_args(field.annotation)}
    ]


def _ask(client: Client, route: Operation, asked: dict[str, object]) -> None:
    before = time.process_time()
    reply = client.get(route.path, **asked)
    spent = time.process_time() - before
    assert spent < SECONDS, f"{spent:.1f} seconds"
    if reply.status >= 400:
        assert reply.status < 500, reply.body
        raise InputError(str(reply.json["error"]))
