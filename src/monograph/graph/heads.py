"""Heads of stored names, updated after a change.

Names of one entity are merged under one of them, their head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from monograph.graph.names import is_never_merged
from monograph.graph.resolve import LARGEST_GROUP, Candidate, heads, related
from monograph.store.file.database import Connection
from monograph.store.graph import names

_MOST_PAIRS = 4_096
"""Largest number of key comparisons for one signature; above it, the heads of all its names are computed again."""


def update_heads(connection: Connection) -> None:
    """Update the heads of the names marked as unresolved, and of the names that :func:`related` finds for them.

    Names with the same head are one entity. Afterwards no name is marked as unresolved.
    """
    marked = names.unresolved(connection)
    if marked:
        cannot_link = names.cannot_link(connection)
        names.set_heads(connection, list(_find_changed_heads(connection, marked, cannot_link)))
        # The rules can merge two names that are kept apart by way of a third name. Such a pair is separated here: the
        # name that is not the head loses its head, or, if neither is the head, the name later in the alphabet.
        for pair in sorted(pair for pair in cannot_link if pair[0] < pair[1]):
            members = names.known(connection, pair)
            if len(members) == 2 and members[pair[0]].head == members[pair[1]].head:
                leaving = pair[0] if members[pair[1]].head == members[pair[1]].row else pair[1]
                names.set_heads(connection, [(None, None, members[leaving].row)])
    names.clear_unresolved(connection)


def _find_changed_heads(
    connection: Connection, marked: Sequence[names.StaleName], cannot_link: set[tuple[str, str]]
) -> Iterator[tuple[int | None, str | None, int]]:
    """Yield the tuples of :func:`changed_heads` for ``marked`` names and the names that a rule may merge with them."""
    keys = {name.key for name in marked if name.living and name.headed}
    compared = [name for name in marked if not is_never_merged(name.key)]
    groups = names.signed(connection, sorted({name.signature for name in compared}))
    sizes = {}
    for signature, grouped in groupby(compared, key=lambda name: name.signature):
        marks, group = list(grouped), groups.get(signature, [])
        if len(group) > 1 or not all(name.living for name in marks):
            # Number of keys that the rules compare; only above LARGEST_GROUP must it be exact.
            small = len(group) <= LARGEST_GROUP
            sizes[signature] = len(group) if small else sum(not is_never_merged(key) for key in group)
            # If the number of keys crossed LARGEST_GROUP in either direction, all of them are resolved again.
            came = sum(name.living for name in marks)
            crossed = sizes[signature] - came <= LARGEST_GROUP < sizes[signature] + len(marks) - came
            resolve_all = crossed or len(marks) * len(group) > _MOST_PAIRS
            keys.update(group if resolve_all else related((name.key for name in marks), group))
    for signature, members in names.groups(connection, keys).items():
        yield from changed_heads(members, cannot_link, sizes.get(signature, 0))


def changed_heads(
    group: Sequence[names.Member], cannot_link: set[tuple[str, str]], size: int = 0
) -> Iterator[tuple[int | None, str | None, int]]:
    """Yield (row of the new head, reason, row of the name) for each name whose head or reason has changed.

    The head of a name is the name that it was merged into. The reason is the rule that merged the two names, or
    ``abbreviation`` if documents state that the name is short for its head. Head and reason are None for a name that
    has no head any more. The parameters are as for :func:`monograph.graph.resolve.heads`. ``group`` must also contain
    two kinds of names that no rule can merge: names with a stored head, and names whose full name a document states.
    """
    resolved = {}
    if len(group) > 1:
        candidates = [Candidate(member.row, member.key, member.subject, member.person, member.code) for member in group]
        resolved = {merge.name: (merge.head, merge.reason) for merge in heads(candidates, cannot_link, size)}
    for member in group:
        # A name that documents state to be short for exactly one full name gets that name as its head.
        if len(member.full) == 1 and member.row not in resolved and member.full[0] != member.row:
            resolved[member.row] = (member.full[0], "abbreviation")
        head, reason = resolved.get(member.row, (0, ""))
        if (head, reason) != (member.head, member.reason):
            yield head or None, reason or None, member.row
