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
"""Smallest number of digits, from the beginning of a summary's id, by which the summary can be looked up."""


def outline(connection: Connection, name: str, layers: int) -> list[OutlineNode]:
    """Return the nodes at the top of the tree, or one summary, each with the nodes below it.

    ``layers`` is the number of layers below these nodes. ``name`` is the id of a summary, or at least
    LEAST_DIGITS digits from the beginning of the id; empty for the top of the tree. Raises NotFound if no summary, or
    more than one, has an id that begins with ``name``.
    """
    nodes = [_find_node(connection, name)] if name else store.roots(connection)
    return branches(connection, nodes, layers)


def summary(connection: Connection, name: str) -> Summary:
    """Return the summary whose id is ``name`` or begins with ``name``.

    Raises NotFound if no summary, or more than one, has such an id, or if ``name`` has fewer than LEAST_DIGITS digits.
    """
    node = _find_node(connection, name)
    return summaries.load(connection, [node])[node]


def over(connection: Connection, document: str) -> list[Summary]:
    """Return the summaries above the chunks of a document, from the lowest layer up, each once.

    ``document`` is the id or uri of the document. Raises NotFound if no document, or more than one, has this id or uri.
    """
    rows = chunks.rows_of_document(connection, only(connection, document).row)
    above = store.ancestors(connection, rows)
    nodes = list(dict.fromkeys(node for row in rows for node in above.get(row, ())))
    return sorted(summaries.load(connection, nodes).values(), key=lambda loaded: loaded.layer)


def _find_node(connection: Connection, name: str) -> int:
    digits = arguments.text(name, "the id").lower()
    matching: list[store.NodeRow] = []
    if LEAST_DIGITS <= len(digits) <= 32 and all(digit in "0123456789abcdef" for digit in digits):
        matching = store.beginning(connection, digits, 2)
    if len(matching) == 1:
        return matching[0].node
    path = path_of(connection)
    message = f"several summaries of {path} have ids that begin with" if matching else f"{path} contains no summary"
    raise NotFound(f"{message} {name!r}", f"monograph outline {path}")


def branches(connection: Connection, nodes: Sequence[int], layers: int) -> list[OutlineNode]:
    """Return nodes of the tree as branches of the outline, each with the ``layers`` layers below it.

    The branches are in the given order. Nodes that do not exist are left out.
    """
    rows = store.load(connection, nodes)
    texts = {node: gist.text for node, gist in summaries.texts_of(connection, rows.values()).items()}
    leaves = {row.node: row.chunk for row in rows.values() if row.chunk is not None}
    loaded = {loaded_chunk.row: loaded_chunk for loaded_chunk in chunks.load(connection, leaves.values())}
    result = []
    children = store.children(connection, nodes) if layers > 0 else {}
    for node in nodes:
        child_nodes = [row.node for row in children.get(node, ())]
        opened = tuple(branches(connection, child_nodes, layers - 1)) if child_nodes else ()
        if node in leaves:
            loaded_chunk = loaded[leaves[node]]
            result.append(OutlineNode(loaded_chunk.chunk.id, 0, loaded_chunk.chunk.text, 1, loaded_chunk.title))
        elif node in texts:
            count = store.count_under(connection, node)
            result.append(OutlineNode(rows[node].key.hex(), rows[node].layer, texts[node], count, "", opened))
    return result
