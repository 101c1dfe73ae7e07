"""Merges of names into one entity, each with the rule that merged them and the evidence for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from monograph.explore.entities import Spelling, iterate_spellings
from monograph.explore.graph_state import GraphState
from monograph.explore.nodes import Nodes
from monograph.graph.names import key_of
from monograph.store.graph import names
from monograph.values import Merge, content_id

SHOWN_DOCUMENTS = 3
"""Largest number of document titles in the detail text of a merge."""

_DETAILS = {
    "plural": "the same words in the plural",
    "initials": "short for the name of only one person here",
    "middle name": "the only person here with these names and one more",
    "spelling variant": "the same except for case, accents, punctuation or an article",
}


def merges(state: GraphState, heads: Sequence[int] | None = None) -> list[Merge]:
    """Return the merges of names in a file: all, or only those of some entities.

    ``heads`` are the rows of the entities' heads (the names that stand for the entities); None for all entities.

    The merges are in this order:

    1. Merges that apply to the whole file, in order of the entity's name.
    2. Short forms (last or first names that mean one person in a document), in order of the entity's name.
    3. Spelling variants (spellings with the same key), in order of the entity's name.
    4. Merges that a user has undone, in order of key.

    Short forms and spelling variants are returned only if ``heads`` are given, and only from the chunks that
    :class:`~monograph.explore.nodes.Nodes` reads.
    """
    if heads is None:
        return [*_load_rule_merges(state, ()), *_load_undone(state, None)]
    nodes = Nodes(state)
    nodes.read_entities(heads)
    keys = [name.key for head in heads for name in nodes.members[head]]
    rows = sorted({chunk for head in heads for chunk in nodes.chunks[head]})
    head_set = set(heads)
    written = [writing for writing in iterate_spellings(nodes, rows) if writing.node.head in head_set]
    return [
        *_load_rule_merges(state, keys),
        *_find_merged_forms(nodes, written),
        *_load_undone(state, keys),
    ]


def _load_rule_merges(state: GraphState, keys: Sequence[str]) -> list[Merge]:
    rows = names.merges(state.names, keys)
    shown = _load_forms(state, {key for pair in rows for key in pair[:2]})
    stated: dict[tuple[str, str], list[str]] = {}
    for title, name, short, full in state.stated([key for key, _, _ in rows]):
        stated.setdefault((short, full), []).append(title or name)
    result = []
    for key, head, reason in rows:
        detail = _DETAILS.get(reason, "")
        if reason == "abbreviation":
            detail = f"stated in {_list_documents(stated.get((key, head), ()))}"
        elif reason == "spelling":
            ratio = SequenceMatcher(None, key, head, autojunk=False).ratio()
            detail = f"{ratio:.0%} of the letters are the same, and no other name is as similar"
        result.append(Merge(content_id("merge", key, head), shown[head], shown[key], reason, detail))
    return sorted(result, key=lambda merge: (merge.name, merge.other, merge.id))


def _list_documents(documents: Sequence[str]) -> str:
    more = f" and {len(documents) - SHOWN_DOCUMENTS} more" if len(documents) > SHOWN_DOCUMENTS else ""
    return ", ".join(documents[:SHOWN_DOCUMENTS]) + more


def _load_forms(state: GraphState, keys: Iterable[str]) -> dict[str, str]:
    """Return {key: spelling of the name in its first chunk, else in a title, else the key}."""
    key_set = set(keys)
    rows = names.rows(state.names, key_set)
    itself = {row: row for row in rows.values()}
    forms = {entry.entity: entry.title.partition(" (")[0] for entry in state.titled(itself)}
    chunks = state.chunks_naming(itself, 1)
    forms.update(
        (row, form)
        for row, (_, form) in state.written({row: chunk_rows[0] for row, chunk_rows in chunks.items()}).items()
    )
    return {key: forms.get(rows[key], key) if key in rows else key for key in key_set}


def _find_merged_forms(nodes: Nodes, written: Sequence[Spelling]) -> list[Merge]:
    """Return the merges of short forms, then the merges of spelling variants."""
    counted: dict[int, Counter[str]] = {}
    for writing in written:
        if not writing.short:
            counted.setdefault(writing.name, Counter())[writing.form] += 1
    full = {name: min(forms, key=lambda form: (-forms[form], form)) for name, forms in counted.items()}
    places = nodes.state.places({writing.chunk for writing in written if writing.short})
    titles = {place.document_id: place.title or place.document_id for place in places.values()}
    documents: dict[tuple[str, int], set[str]] = {}
    for writing in written:
        if writing.short:
            documents.setdefault((writing.form, writing.name), set()).add(places[writing.chunk].document_id)
    short_forms, variants = [], []
    for (form, name), document_ids in documents.items():
        key = nodes.names[name].key
        detail = f"the only person of that name in {_list_documents([titles[one] for one in sorted(document_ids)])}"
        merge_id = content_id("merge", key_of(form), key)
        short_forms.append(Merge(merge_id, full.get(name, key), form, "short form", detail))
    for name, forms in counted.items():
        for form in forms.keys() - {full[name]}:
            merge_id = content_id("merge", nodes.names[name].key, form)
            variants.append(Merge(merge_id, full[name], form, "spelling variant", _DETAILS["spelling variant"]))
    return [
        merge
        for found in (short_forms, variants)
        for merge in sorted(found, key=lambda merge: (merge.name, merge.other, merge.id))
    ]


def _load_undone(state: GraphState, keys: Sequence[str] | None) -> list[Merge]:
    """Return the merges that a user has undone: all, or only those with a name whose key is in ``keys``."""
    pairs = {
        tuple(sorted(pair, key=lambda key: (-len(key.split()), -len(key), key)))
        for pair in names.cannot_link(state.names)
    }
    key_set = None if keys is None else set(keys)
    ordered = sorted(pair for pair in pairs if key_set is None or key_set & set(pair))
    shown = _load_forms(state, {key for pair in ordered for key in pair})
    return [
        Merge(content_id("merge", other, full), shown[full], shown[other], "set apart", "by hand", undone=True)
        for full, other in ordered
    ]
