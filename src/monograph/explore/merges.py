"""Names that were merged into one entity, with the rule that did it and its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from monograph.explore.entities import Writing, writings
from monograph.explore.graph_state import GraphState
from monograph.explore.nodes import Nodes
from monograph.graph.names import key_of
from monograph.store.graph import names
from monograph.values import Merge, content_id

SHOWN_DOCUMENTS = 3
"""Most titles of documents that the detail of a merge names."""

_DETAILS = {
    "plural": "the same words in the plural",
    "initials": "short for the name of only one person here",
    "middle name": "the only person here with these names and one more",
}


def merges(state: GraphState, heads: Sequence[int] | None = None) -> list[Merge]:
    """Return the merges of a file, or those of some entities; each group is in order of the entity's name.

    The groups, in order:

    1. Merges that hold in the whole file.
    2. If ``heads`` are given: merges that hold in one document (``short form``: a last or first name that means one
       person there), then spellings with the same key (``spelling variant``). Both are looked for in the chunks that
       :class:`~monograph.explore.nodes.Nodes` reads.
    3. Merges that were undone.

    Parameters
    ----------
    state:
        The graph.
    heads:
        Rows of the entities' heads; None for all entities.
    """
    if heads is None:
        return [*_by_rule(state, ()), *_undone(state, None)]
    nodes = Nodes(state)
    nodes.read_entities(heads)
    keys = [one.key for head in heads for one in nodes.members[head]]
    rows = sorted({chunk for head in heads for chunk in nodes.chunks[head]})
    asked = set(heads)
    ways = [one for one in writings(nodes, rows) if one.node.head in asked]
    return [
        *_by_rule(state, keys),
        *_short_forms(nodes, ways),
        *_variants(nodes, ways),
        *_undone(state, keys),
    ]


def _by_rule(state: GraphState, keys: Sequence[str]) -> list[Merge]:
    found = names.merges(state.names, keys)
    shown = _shown(state, {key for pair in found for key in pair[:2]})
    stated: dict[tuple[str, str], list[str]] = {}
    for title, name, short, full in state.stated([key for key, _, _ in found]):
        stated.setdefault((short, full), []).append(title or name)
    made = [
        Merge(
            content_id("merge", key, head),
            shown[head],
            shown[key],
            reason,
            _detail(reason, key, head, stated.get((key, head), ())),
        )
        for key, head, reason in found
    ]
    return sorted(made, key=lambda one: (one.name, one.other, one.id))


def _detail(reason: str, key: str, head: str, documents: Sequence[str]) -> str:
    if reason == "abbreviation":
        return f"stated in {_some(documents)}"
    if reason == "spelling":
        alike = SequenceMatcher(None, key, head, autojunk=False).ratio()
        return f"{alike:.0%} of the letters are the same, and no other name is as similar"
    return _DETAILS.get(reason, "")


def _some(documents: Sequence[str]) -> str:
    more = f" and {len(documents) - SHOWN_DOCUMENTS} more" if len(documents) > SHOWN_DOCUMENTS else ""
    return ", ".join(documents[:SHOWN_DOCUMENTS]) + more


def _shown(state: GraphState, keys: Iterable[str]) -> dict[str, str]:
    """Return the written form of each name, by key: that of its first chunk, else that of a title, else the key."""
    asked = set(keys)
    rows = names.rows(state.names, asked)
    itself = {row: row for row in rows.values()}
    forms = {one.entity: one.title.partition(" (")[0] for one in state.titled(itself)}
    chunks = state.chunks_naming(itself, 1)
    forms.update(
        (row, form) for row, (_, form) in state.written({row: some[0] for row, some in chunks.items()}).items()
    )
    return {key: forms.get(rows[key], key) if key in rows else key for key in asked}


def _short_forms(nodes: Nodes, ways: Sequence[Writing]) -> list[Merge]:
    places = nodes.state.places({one.chunk for one in ways if one.short})
    titles = {places[one.chunk].document_id: places[one.chunk].title for one in ways if one.short}
    documents: dict[tuple[str, int], set[str]] = {}
    for one in ways:
        if one.short:
            documents.setdefault((one.form, one.name), set()).add(places[one.chunk].document_id)
    full = _most_written(ways)
    made = []
    for (form, name), some in documents.items():
        key = nodes.names[name].key
        listed = [titles[one] or one for one in sorted(some)]
        detail = f"the only person of that name in {_some(listed)}"
        made.append(Merge(content_id("merge", key_of(form), key), full.get(name, key), form, "short form", detail))
    return sorted(made, key=lambda one: (one.name, one.other, one.id))


def _variants(nodes: Nodes, ways: Sequence[Writing]) -> list[Merge]:
    full = _most_written(ways)
    forms = {(one.name, one.form) for one in ways if not one.short and one.form != full[one.name]}
    made = [
        Merge(
            content_id("merge", nodes.names[name].key, form),
            full[name],
            form,
            "spelling variant",
            "the same except for case, accents, punctuation or an article",
        )
        for name, form in forms
    ]
    return sorted(made, key=lambda one: (one.name, one.other, one.id))


def _most_written(ways: Sequence[Writing]) -> dict[int, str]:
    """Return the most frequent written form of each name, by row."""
    counted: dict[int, dict[str, int]] = {}
    for one in ways:
        if not one.short:
            forms = counted.setdefault(one.name, {})
            forms[one.form] = forms.get(one.form, 0) + 1
    return {name: min(forms, key=lambda form: (-forms[form], form)) for name, forms in counted.items()}


def _undone(state: GraphState, keys: Sequence[str] | None) -> list[Merge]:
    """Return undone merges: all, or those in which a name of ``keys`` takes part."""
    pairs = {
        tuple(sorted(pair, key=lambda key: (-len(key.split()), -len(key), key)))
        for pair in names.cannot_link(state.names)
    }
    asked = None if keys is None else set(keys)
    ordered = sorted(pair for pair in pairs if asked is None or asked & set(pair))
    shown = _shown(state, {key for pair in ordered for key in pair})
    return [
        Merge(content_id("merge", other, full), shown[full], shown[other], "set apart", "by hand", undone=True)
        for full, other in ordered
    ]
