"""Where the names in a search's starts lead, read hop by hop."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from monograph.search.beside import beside
from monograph.search.walked import Walk

_ROW, _KEY = attrgetter("row"), attrgetter("key")


def follow(found: Walk, starts: Sequence[int]) -> None:
    """Add the links that lead out of some chunks that are known, and what these make of the chances of others."""
    texts = found.snapshot.starts(starts)
    found.texts.update(zip(starts, texts, strict=True))
    for text in texts:
        found.names.update(zip(map(_ROW, text.names), text.names, strict=True))
    keys = [(list(map(_KEY, text.names)), text.sentences) for text in texts]
    tells = beside(found.question, [text.start for text in texts], keys)
    heads = found.reckoning.begin(starts, texts, tells)
    leads = found.snapshot.leads(heads, found.names, found.allowed)
    found.learn(found.reckoning.lead(leads))
    found.reckoning.follow()
