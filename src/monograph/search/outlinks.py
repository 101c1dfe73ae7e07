"""The names in a search's starts as columns: where each stands, and what the question has to do with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from monograph.graph.evidence import Float64
from monograph.search.beside import beside
from monograph.search.links import Int64
from monograph.search.walked import Walk


@dataclass(frozen=True, slots=True, eq=False)
class Outlinks:
    """Names in the texts of starts, (n,) each, in an order that hangs on the chunks alone.

    ``numbers`` are those of the starts among the chunks that are followed at once, ``starts`` their places in the walk,
    ``heads`` the rows of the entities, ``names`` those of the names. All others are features: ln(1 + uses); whether the
    question names the entity; whether the start's document is about it; whether it is named in the first sentence;
    words of the name that the title has not, in fours; what words of the question beside it weigh.
    """

    numbers: Int64
    starts: Int64
    heads: Int64
    names: Int64
    uses: Float64
    asked: Float64
    own: Float64
    first: Float64
    words: Float64
    beside: Float64


def outlinks(found: Walk, starts: Sequence[int]) -> Outlinks:
    """The names in the texts of some chunks that are known, as far as they can lead on."""
    texts = found.snapshot.starts(starts)
    found.texts.update(zip(starts, texts, strict=True))
    each = [name for text in texts for name in text.names]
    found.names.update(zip((name.row for name in each), each, strict=True))
    found.alone.update(*(text.alone for text in texts))
    keys = [([name.key for name in text.names], text.sentences) for text in texts]
    said = chain.from_iterable(beside(found.question, [text.start for text in texts], keys))
    tells = np.array(list(said), dtype=np.float64).reshape(len(each), 2)
    numbers = np.repeat(np.arange(len(starts)), [len(text.names) for text in texts])
    heads = np.array([name.head for name in each], dtype=np.int64)
    asked = {one.name.head for one in found.question.names}
    return Outlinks(
        numbers,
        found.places(starts)[numbers],
        heads,
        np.array([name.row for name in each], dtype=np.int64),
        np.log1p(np.array([name.uses for name in each], dtype=np.float64)),
        np.array([name.head in asked for name in each], dtype=np.float64),
        np.array([own for text in texts for own in text.own], dtype=np.float64),
        np.array([0 in some for text in texts for some in text.sentences], dtype=np.float64),
        tells[:, 0] / 4,
        tells[:, 1],
    )
