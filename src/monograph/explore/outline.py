"""The tree as a table of contents, opened layer by layer."""

from __future__ import annotations

from collections.abc import Sequence

from monograph.errors import NotFound
from monograph.explore.lookup import only
from monograph.search.one_file import summaries
from monograph.search.one_file.summaries import Passages
from monograph.store import chunks
from monograph.store import tree as store
from monograph.store.database import Connection, path_of
from monograph.values import OutlineNode, Summary, arguments

LEAST_DIGITS = 4
"""Of an id, as many as are asked for to name a summary by its beginning."""


def outline(
    connection: Connection, name: str, layers: int, passages: Passages | None = None, place: str = ""
) -> list[OutlineNode]:
    """What stands at the top of the tree, or one summary, each opened so many layers deep.

    ``place`` is the address of the shelf whose tree it is; empty for a file's.

    Raises
    ------
    NotFound
        If no summary has that id, or several begin so.
    """
    nodes = [_named(connection, name, place)] if name else store.roots(connection)
    return branches(connection, nodes, layers, passages)


def summary(connection: Connection, name: str, passages: Passages | None = None, place: str = "") -> Summary:
    """A summary by its id. Raises as :func:`outline`."""
    node = _named(connection, name, place)
    found = summaries.load(connection, [node], passages)
    if node not in found:
        mend = f"monograph shelf check {place}" if place else f"monograph check {path_of(connection)}"
        raise NotFound(f"summary {name!r} cannot be read", mend)
    return found[node]


def over(connection: Connection, document: str) -> list[Summary]:
    """The summaries over the chunks of a document, from the lowest layer up, each once.

    Raises
    ------
    NotFound
        If there is no such document.
    """
    return over_chunks(connection, chunks.rows_of_document(connection, only(connection, document).row))


def over_chunks(connection: Connection, rows: Sequence[int], passages: Passages | None = None) -> list[Summary]:
    """The summaries over some chunks, from the lowest layer up, each once; those over the first chunks first."""
    above = store.ancestors(connection, rows)
    nodes = list(dict.fromkeys(node for row in rows for node in above.get(row, ())))
    return sorted(summaries.load(connection, nodes, passages).values(), key=lambda one: one.layer)


def _named(connection: Connection, name: str, place: str) -> int:
    digits = arguments.text(name, "the id").lower()
    found: list[store.Row] = []
    if LEAST_DIGITS <= len(digits) <= 32 and all(one in "0123456789abcdef" for one in digits):
        found = store.beginning(connection, digits, 2)
    if len(found) == 1:
        return found[0].node
    place = place or str(path_of(connection))
    said = f"several summaries of {place} have ids that begin with" if found else f"{place} holds no summary"
    raise NotFound(f"{said} {name!r}", f"monograph outline {place}")


def branches(
    connection: Connection, nodes: Sequence[int], layers: int, passages: Passages | None = None
) -> list[OutlineNode]:
    """Nodes as branches, opened so many layers deep, in the order given, over the file's own chunks or over others."""
    passages = passages or summaries.OwnPassages(connection)
    rows = store.load(connection, nodes)
    texts = {node: gist.text for node, gist in summaries.texts_of(connection, rows.values()).items()}
    leaves = {row.node: row.chunk for row in rows.values() if row.chunk is not None}
    loaded = passages.chunks(leaves.values())
    found = {node: loaded[chunk] for node, chunk in leaves.items() if chunk in loaded}
    made = []
    children = store.children(connection, nodes) if layers > 0 else {}
    for node in nodes:
        under = [row.node for row in children.get(node, ())]
        opened = tuple(branches(connection, under, layers - 1, passages)) if under else ()
        if node in found:
            one = found[node]
            made.append(OutlineNode(one.chunk.id, 0, one.chunk.text, 1, one.title))
        elif node in texts:
            count = store.count_under(connection, node)
            made.append(OutlineNode(rows[node].key.hex(), rows[node].layer, texts[node], count, "", opened))
    return made
