"""Which names mean the same entity, brought up to date with the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from monograph.graph.resolve import Candidate, heads
from monograph.store import names
from monograph.store.database import Connection


def resolve(connection: Connection) -> None:
    """Bring up to date which names mean the same entity, where names or subjects came or went."""
    names.unresolve_apart(connection)
    groups = names.unresolved(connection)
    if groups:
        cannot_link = names.cannot_link(connection)
        names.set_heads(connection, [change for group in groups for change in changes(group, cannot_link)])
        _keep_apart(connection, cannot_link)
    names.clear_unresolved(connection)


def _keep_apart(connection: Connection, cannot_link: set[tuple[str, str]]) -> None:
    """Part the names that were set apart and are one by way of others: the one that is not the head stands alone.

    Of two that have one head the one later in the alphabet does. Pairs are gone through in order of the alphabet, from
    heads that were found without regard to this: what came before does not count.
    """
    for pair in sorted(pair for pair in cannot_link if pair[0] < pair[1]):
        known = names.known(connection, pair)
        if len(known) == 2 and known[pair[0]].head == known[pair[1]].head:
            leaving = pair[0] if known[pair[1]].head == known[pair[1]].row else pair[1]
            names.set_heads(connection, [(None, None, known[leaving].row)])


def changes(
    group: Sequence[names.Member], cannot_link: set[tuple[str, str]]
) -> Iterator[tuple[int | None, str | None, int]]:
    """(head, reason, row) of the names of a signature whose head is another than before."""
    found = {}
    if len(group) > 1:
        candidates = [Candidate(one.row, one.key, one.subject, one.person, one.code) for one in group]
        found = {one.name: (one.head, one.reason) for one in heads(candidates, cannot_link)}
    for one in group:
        # A name that documents state to stand for one full name, and no other, is that one.
        if len(one.full) == 1 and one.row not in found and one.full[0] != one.row:
            found[one.row] = (one.full[0], "abbreviation")
        head, reason = found.get(one.row, (0, ""))
        if (head, reason) != (one.head, one.reason):
            yield head or None, reason or None, one.row
