"""Random questions and arguments: search modes (also as text with parameters), names, paths and numbers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from fuzz import Case, Draw
from fuzz.typed import invoke, typed
from monograph import Document, Monograph, strategies
from monograph.derive.loading import load_summarizer
from monograph.values import Answer, Context, Turn
from support.answering import Whole
from support.bad_inputs import number, scalar, shown, text, tree, written

FACTS = (
    "Mrs Grubb wrote to Tobias Renk about the boiler in Salzburg, order INV-2024.",
    "Tobias Renk met Anna Calder in Vienna. Anna Calder brought the comet plates.",
    "Anna Calder gave the plates to Peter Okafor in Berlin on 11 April 1963.",
    "The telescope stands in dome 7. 日本語の本文もあります。 نص عربي.",
)
NOTHING = Context("", ())
PARAMETERS = ("alpha", "detail", "budget", "faithful", "k", "", " detail", "detail ", "DETAIL", "__class__", "self")


@contextmanager
def cases(folder: Path) -> Iterator[Draw]:
    """Draw calls of the library and the command line."""
    path = folder / "queries.mono"
    with Monograph.open(path, model=Whole("Anna Calder [1].", 3), summarizer=load_summarizer("extractive")) as opened:
        opened.add(Document(fact, id=f"d{at}", title=f"Note {at}") for at, fact in enumerate(FACTS * 4))
        calls: list[Draw] = [*_calls(opened), *[partial(_search, opened)] * 2, partial(_command_line, path)]
        yield lambda chosen: chosen.choice(calls)(chosen)


def _search(opened: Monograph, chosen: random.Random) -> Case:
    query, how, k = _query(chosen), _how(chosen), _k(chosen)
    vector: Any = None
    if chosen.random() < 0.15:
        size = chosen.choice((256, 256, 256, 0, 1, 255, 257))
        vector = chosen.choice(
            (tree(chosen), [number(chosen) for _ in range(size)], [chosen.random()] * size, [[0.0] * 256])
        )
    name = f"search({query!a}, {k!a}, {shown(how)}, vector={shown(vector)[:200]})"
    return name, partial(opened.search, query, k, how, vector=vector)


def _query(chosen: random.Random) -> str:
    kind = chosen.randrange(4)
    if kind == 0:
        return chosen.choice(FACTS)
    if kind == 1:
        words = chosen.choice(FACTS).split()
        words[chosen.randrange(len(words))] = text(chosen)
        return " ".join(words)
    return text(chosen)


def _how(chosen: random.Random) -> Any:
    """Draw a search mode: its name, its name with parameters, or something else."""
    name = chosen.choice(strategies())
    kind = chosen.randrange(8)
    if kind < 4:
        return name
    if kind == 4:
        return chosen.choice(
            (text(chosen), f"{name}:{text(chosen)}", f"{text(chosen)}:{name}", name.upper(), tree(chosen))
        )
    held = [f"{chosen.choice(PARAMETERS)}={_value(chosen)}" for _ in range(chosen.choice((1, 1, 2, 40)))]
    return f"{chosen.choice(('tree', 'hybrid', 'graph', name))}:{','.join(held)}"


def _value(chosen: random.Random) -> str:
    return chosen.choice(
        (
            lambda: written(number(chosen)),
            lambda: str(chosen.random()),
            lambda: written(tree(chosen)),
            lambda: text(chosen),
        )
    )()


def _k(chosen: random.Random) -> Any:
    return chosen.choice((chosen.randrange(12), chosen.randrange(12), number(chosen), scalar(chosen)))


def _calls(opened: Monograph) -> list[Draw]:
    """Return draws of calls of the other methods that take texts and numbers.

    Types of arguments: t text, x text that is not in the file, X several of these, n number, h search mode, b Boolean,
    T turns of a conversation.
    """
    works: list[tuple[Callable[..., object], str, str]] = [
        (opened.context, "t", "budget:n k:n how:h"),
        (opened.ask, "t", "budget:n k:n how:h max_tokens:n history:T remember:b"),
        (opened.document, "t", ""),
        (opened.chunks, "t", ""),
        (opened.remove, "X", ""),
        (opened.graph.entities, "n", "like:t"),
        (opened.graph.neighbourhood, "t", "hops:n limit:n"),
        (opened.graph.routes, "tt", "hops:n limit:n"),
        (opened.graph.merges, "t", ""),
        (opened.graph.keep_apart, "xx", ""),
        (opened.graph.unite, "xx", ""),
        (opened.tree.outline, "t", "layers:n"),
        (opened.files.move, "xx", ""),
        (opened.files.remove, "x", ""),
    ]
    return [partial(_call, *one) for one in works]


def _call(work: Callable[..., object], places: str, names: str, chosen: random.Random) -> Case:
    given = [_argument(kind, chosen) for kind in places]
    pairs = (one.split(":") for one in names.split())
    named = {name: _argument(kind, chosen) for name, kind in pairs if chosen.random() < 0.5}
    name = f"{getattr(work, '__qualname__', work)}({shown(given)[1:-1]}, {shown(named)})"
    return name, partial(work, *given, **named)


def _argument(kind: str, chosen: random.Random) -> Any:
    if kind == "n":
        return _k(chosen)
    if kind == "h":
        return _how(chosen)
    if kind == "b":
        return chosen.random() < 0.5
    if kind == "T":
        return [Turn(text(chosen), Answer(text(chosen), (), NOTHING)) for _ in range(2)]
    if kind == "X":
        return [text(chosen) for _ in range(3)]
    if kind == "x":
        return text(chosen)
    return chosen.choice((text(chosen), text(chosen), "Anna Calder", "Tobias Renk", "d1", "Vienna"))


def _command_line(path: Path, chosen: random.Random) -> Case:
    command = chosen.choice(("search", "search", "context", "show", "outline", "graph"))
    given = [_query(chosen)]
    for option in chosen.sample(("--how", "-k", "--json", "--hops", "--budget"), chosen.randrange(3)):
        given.append(option)
        if option != "--json":
            given.append(str(_how(chosen)) if option == "--how" else str(_k(chosen)))
    said = [typed(one) for one in given]
    return f"{command} {said!a}", partial(invoke, [command, str(path), *said])
