"""Where the names in a search's starts lead, read hop by hop."""

from __future__ import annotations

from collections.abc import Sequence

from monograph.search.beside import beside
from monograph.search.leads import Known
from monograph.search.walked import Walk


def follow(found: Walk, starts: Sequence[int]) -> None:
    """Add the links that lead out of some chunks that are known, and what these make of the chances of others."""
    texts = found.snapshot.starts(starts)
    found.texts.update(zip(starts, texts, strict=True))
    for text in texts:
        found.names.update((name.row, name) for name in text.names)
        found.alone.update(text.alone)
    keys = [([name.key for name in text.names], text.sentences) for text in texts]
    tells = beside(found.question, [text.start for text in texts], keys)
    heads = found.reckoning.begin(starts, texts, tells)
    leads = found.snapshot.leads(heads, Known(found.names, found.alone), found.allowed)
    found.learn(found.reckoning.unknown_led(leads))
    found.reckoning.follow(leads)
