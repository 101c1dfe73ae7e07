"""Where an entity leads: to the documents about it, and to the chunks that name it too."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Leads:
    """Where an entity leads: chunks of documents about it, and all others that name it, by row.

    Of the first ``by_beginning`` tells which documents only begin with it, ``rarity`` is 1 / sqrt(documents about it).
    """

    documents: tuple[int, ...]
    by_beginning: tuple[bool, ...]
    rarity: tuple[float, ...]
    others: tuple[int, ...]


NOWHERE = Leads((), (), (), ())
