"""The tree of summaries as a table of contents, opened layer by layer."""

from __future__ import annotations

from collections.abc import Sequence

from monograph.errors import NotFound
from monograph.explore.lookup import only
from monograph.search.one_file import summaries
from monograph.store import tree as store
from monograph.store.documents import chunks
from monograph.store.file.database import Connection
from monograph.store.file.errors import path_of
from monograph.values import OutlineNode, Summary, arguments

LEAST_DIGITS = 4
"""Fewest leading digits of an id that may stand for a summary."""


def outline(connection: Connection, name: str, layers: int) -> list[OutlineNode]:
    """Return the top of the tree, or one summary, with ``layers`` layers below.

    Raises
    ------
    NotFound
        If no summary has an id that begins with ``name``, or several have.
    """
    nodes = [_named(connection, name)] if name else store.roots(connection)
    return branches(connection, nodes, layers)


def summary(connection: Connection, name: str) -> Summary:
    """Return a summary by its id or the beginning of it. Raises as :func:`outline`."""
    node = _named(connection, name)
    return summaries.load(connection, [node])[node]


def over(connection: Connection, document: str) -> list[Summary]:
    """Return the summaries over the chunks of a document, from the lowest layer up, each once.

    Raises
    ------
    NotFound
        If there is no such document, or several have that uri.
    """
    rows = chunks.rows_of_document(connection, only(connection, document).row)
    above = store.ancestors(connection, rows)
    nodes = list(dict.fromkeys(node for row in rows for node in above.get(row, ())))
    return sorted(summaries.load(connection, nodes).values(), key=lambda one: one.layer)


def _named(connection: Connection, name: str) -> int:
    digits = arguments.text(name, "the id").lower()
    found: list[store.NodeRow] = []
    if LEAST_DIGITS <= len(digits) <= 32 and all(one in "0123456789abcdef" for one in digits):
        found = store.beginning(connection, digits, 2)
    if len(found) == 1:
        return found[0].node
    place = path_of(connection)
    said = f"several summaries of {place} have ids that begin with" if found else f"{place} contains no summary"
    raise NotFound(f"{said} {name!r}", f"monograph outline {place}")


def branches(connection: Connection, nodes: Sequence[int], layers: int) -> list[OutlineNode]:
    """Return nodes as branches of the outline, with ``layers`` layers below them, in the order given."""
    rows = store.load(connection, nodes)
    texts = {node: gist.text for node, gist in summaries.texts_of(connection, rows.values()).items()}
    leaves = {row.node: row.chunk for row in rows.values() if row.chunk is not None}
    loaded = {one.row: one for one in chunks.load(connection, leaves.values())}
    found = {node: loaded[chunk] for node, chunk in leaves.items()}
    made = []
    children = store.children(connection, nodes) if layers > 0 else {}
    for node in nodes:
        under = [row.node for row in children.get(node, ())]
        opened = tuple(branches(connection, under, layers - 1)) if under else ()
        if node in found:
            one = found[node]
            made.append(OutlineNode(one.chunk.id, 0, one.chunk.text, 1, one.title))
        elif node in texts:
            count = store.count_under(connection, node)
            made.append(OutlineNode(rows[node].key.hex(), rows[node].layer, texts[node], count, "", opened))
    return made
