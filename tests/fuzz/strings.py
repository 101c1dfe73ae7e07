"""NUL, control characters and half pairs in every string of a document: refused, or filtered and printed as they should be."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from monograph import Document, Monograph, Passage, View
from monograph import where as filters
from monograph.app.cli import app
from monograph.errors import InputError, OutsideView
from monograph.values import AssertedNode, Place, Section
from support.bad_inputs import text

CONTROLS = "\0\x07\x08\x0b\x1b\r\n\t\x7f\x85\x9b\u200b\u2028\u202e\ud800"
STEMS = ("owner", "ann", "d1", "Riga", "a", "")
ESCAPES = ("\x1b]0;title\x07", "\x1b[2J", "\x9b31m", "\0 of another", "\r\nerror: none")
COMMANDS = (
    ["search", "Ann Mercer", "--how", "lexical"],
    ["search", "Ann Mercer", "--how", "lexical", "--json"],
    ["context", "Ann Mercer", "--how", "lexical"],
    ["show"],
    ["graph", "Ann Mercer"],
    ["stats"],
)
MOST = 12
"""Documents that the file holds at once."""


def cases(seed: int, folder: Path, first: int = 0) -> Iterator[tuple[str, Callable[[], object]]]:
    """A document a case."""
    path = folder / "strings.mono"
    with Monograph.open(path) as opened:
        opened.add([Document("Ann Mercer met Otto Ruhl in Riga.", id="d1", metadata={"owner": "ann"})])
        for at in itertools.count(first):
            chosen = random.Random(f"{seed}/{at}")
            work = chosen.choice((_store, _store, _tell, _name))
            yield f"{at}: {work.__name__}", partial(work, opened, chosen)


def drawn(chosen: random.Random) -> str:
    """A string, mostly an ordinary one with something in it that should not be there."""
    kind = chosen.randrange(5)
    if kind == 0:
        return text(chosen)[:200]
    if kind == 1:
        return chosen.choice(STEMS)
    said = chosen.choice(STEMS)
    at = chosen.randrange(len(said) + 1)
    return said[:at] + chosen.choice((chosen.choice(CONTROLS), chosen.choice(ESCAPES))) + said[at:]


def _metadata(chosen: random.Random) -> dict[str, Any]:
    return {drawn(chosen): chosen.choice((drawn(chosen), [drawn(chosen)])) for _ in range(chosen.randrange(3))}


def _store(opened: Monograph, chosen: random.Random) -> None:
    """Add a document, to the file or through a view."""
    name, title, uri, heading, sheet = (drawn(chosen) if chosen.random() < 0.5 else "" for _ in range(5))
    metadata, more = _metadata(chosen), _metadata(chosen)
    said = f"Ann Mercer met {drawn(chosen)} in Riga."
    passages = (Passage(said, drawn(chosen), more),) if chosen.random() < 0.4 else ()
    strings = (name, title, uri, *_strings(metadata), *(_strings(more) if passages else (heading, sheet)))
    made = Document(
        "" if passages else said, name, title, uri, metadata, passages=passages,
        sections=() if passages else (Section(0, (heading,)),), places=() if passages else (Place(0, sheet=sheet),),
    )  # fmt: skip
    assert not any("\0" in one for one in (*strings, *(passage.id for passage in passages)))
    key, value = chosen.choice((("owner", "ann"), *((key, one) for key, one in metadata.items() if type(one) is str)))
    if key.startswith("$") or key.lower() in ("and", "or", "not", "since", "as_of"):
        key, value = "owner", "ann"
    view = opened.within({key: value})
    with suppress(OutsideView):
        (view if chosen.random() < 0.5 else opened).add([made])
    _agree(opened, view, {key: value})
    _print(opened, chosen)
    for one in opened.documents()[: -MOST or None]:
        opened.remove([one.id])


def _strings(metadata: dict[str, Any]) -> list[str]:
    return [*metadata, *(one for value in metadata.values() for one in (value if isinstance(value, list) else [value]))]


def _agree(opened: Monograph, view: View, where: dict[str, Any]) -> None:
    """A view holds the documents of which every chunk meets its filter, as Python compares."""
    condition = filters.parse(where)
    met: dict[str, bool] = {}
    for hit in opened.fetch():
        name = hit.chunk.document_id
        met[name] = met.get(name, True) and filters.matches(condition, hit.metadata)
    wanted = [name for name, holds in met.items() if holds]
    found = [one.id for one in view.documents()]
    assert sorted(found) == sorted(wanted), (where, found, wanted)


def _print(opened: Monograph, chosen: random.Random) -> None:
    """No command writes a character that a terminal obeys."""
    command, *rest = chosen.choice(COMMANDS)
    result = CliRunner().invoke(app, [command, str(opened.path), *rest])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    obeyed = {one for one in result.output if one != "\n" and (ord(one) < 32 or 127 <= ord(one) < 160)}
    assert not obeyed, (command, rest, obeyed)


def _tell(opened: Monograph, chosen: random.Random) -> None:
    node = AssertedNode(drawn(chosen), drawn(chosen), drawn(chosen), _metadata(chosen))
    opened.graph.add([node])
    assert not any("\0" in one for one in (node.id, node.name, node.label, *_strings(dict(node.properties))))
    assert list(opened.graph.assertions([node.id]).nodes) == [node.id]
    opened.graph.remove([node.id])


def _name(opened: Monograph, chosen: random.Random) -> None:
    """A name that is not a document's removes and shows none."""
    name = drawn(chosen)
    held = {one.id for one in opened.documents()}
    known = name in held or any(name == one.uri for one in opened.documents())
    if known:
        raise InputError("it is there")
    for act in (opened.document, opened.chunks, lambda one: opened.remove([one])):
        try:
            act(name)
        except InputError:
            continue
        except Exception as error:
            if type(error).__name__ not in ("NotFound", "InvalidDocument"):
                raise
            continue
        raise AssertionError(f"{name!r} was found")
    assert {one.id for one in opened.documents()} == held
