"""The names in a search's starts as columns: where each stands, and what the question has to do with it."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from monograph.graph.evidence import Float64, Int64
from monograph.search.start_texts import StartText


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


def outlinks(
    places: Int64, texts: Sequence[StartText], tells: Sequence[Sequence[tuple[int, float]]], asked: Collection[int]
) -> Outlinks:
    """The names in the texts of starts, as far as they can lead on.

    ``places`` are those of the starts in the walk, ``tells`` what :func:`monograph.search.beside.beside` gives of each
    text, ``asked`` the entities that the question names.
    """
    each = [name for text in texts for name in text.names]
    said = np.array(list(chain.from_iterable(tells)), dtype=np.float64).reshape(len(each), 2)
    numbers = np.repeat(np.arange(len(texts)), [len(text.names) for text in texts])
    return Outlinks(
        numbers,
        places[numbers],
        np.array([name.head for name in each], dtype=np.int64),
        np.array([name.row for name in each], dtype=np.int64),
        np.array([math.log1p(max(name.uses, 0)) for name in each], dtype=np.float64),
        np.array([name.head in asked for name in each], dtype=np.float64),
        np.array([own for text in texts for own in text.own], dtype=np.float64),
        np.array([0 in some for text in texts for some in text.sentences], dtype=np.float64),
        said[:, 0] / 4,
        said[:, 1],
    )
