"""NUL, control characters and lone surrogates in strings of a document: refused, or filtered and printed correctly."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from fuzz import Case, Draw
from fuzz.typed import invoke
from monograph import Document, Monograph, Passage, View
from monograph import where as filters
from monograph.errors import InputError, InvalidDocument, NotFound, OutsideView
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
"""Maximum number of documents in the file."""


@contextmanager
def cases(folder: Path) -> Iterator[Draw]:
    """Draw documents, assertions and names."""
    path = folder / "strings.mono"
    with Monograph.open(path) as opened:
        opened.add([Document("Ann Mercer met Otto Ruhl in Riga.", id="d1", metadata={"owner": "ann"})])

        def draw(chosen: random.Random) -> Case:
            work = chosen.choice((_store, _store, _tell, _name))
            return work.__name__, partial(work, opened, chosen)

        yield draw


def drawn(chosen: random.Random) -> str:
    """Draw a string, mostly an ordinary one with a control character or escape sequence inserted."""
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
    """Assert that a view has the documents whose chunks all match its filter, as evaluated in Python."""
    condition = filters.parse(where)
    met: dict[str, bool] = {}
    for hit in opened.fetch():
        name = hit.chunk.document_id
        met[name] = met.get(name, True) and filters.matches(condition, hit.metadata)
    wanted = [name for name, holds in met.items() if holds]
    found = [one.id for one in view.documents()]
    assert sorted(found) == sorted(wanted), (where, found, wanted)


def _print(opened: Monograph, chosen: random.Random) -> None:
    """Assert that a command prints no control character except newlines."""
    command, *rest = chosen.choice(COMMANDS)
    try:
        output = invoke([command, str(opened.path), *rest])
    except InputError as error:
        output = str(error)
    obeyed = {one for one in output if one != "\n" and (ord(one) < 32 or 127 <= ord(one) < 160)}
    assert not obeyed, (command, rest, obeyed)


def _tell(opened: Monograph, chosen: random.Random) -> None:
    node = AssertedNode(drawn(chosen), drawn(chosen), drawn(chosen), _metadata(chosen))
    opened.graph.add([node])
    assert not any("\0" in one for one in (node.id, node.name, node.label, *_strings(dict(node.properties))))
    assert list(opened.graph.assertions([node.id]).nodes) == [node.id]
    opened.graph.remove([node.id])


def _name(opened: Monograph, chosen: random.Random) -> None:
    """Assert that an unknown name neither returns nor removes a document."""
    name = drawn(chosen)
    held = {one.id for one in opened.documents()}
    if name in held or any(name == one.uri for one in opened.documents()):
        raise InputError("it is there")
    for act in (opened.document, opened.chunks, lambda one: opened.remove([one])):
        try:
            act(name)
        except (InputError, NotFound, InvalidDocument):
            continue
        raise AssertionError(f"{name!r} was found")
    assert {one.id for one in opened.documents()} == held
