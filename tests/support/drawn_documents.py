"""Hypothesis strategies for documents and passages in several languages, optionally with given vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from monograph import Document, Passage

SENTENCES = (
    "Anna Calder met John Smith in Vienna.",
    "J. Smith gave the comet plate to Anna Calder.",
    "John Paul Smith was born in Genoa.",
    "The North Sea Treaty (NST) was signed by Peter Okafor.",
    "The NST ended in 1963.",
    "Solar panels and a solar panel lay in the yard.",
    "in 1963 the lamp oil of the north sea treaty ran out",
    "天文台的钟停了。",
    "Ünïcode naïve café",
)
TITLES = ("", "", "Green", "Green (album)", "Anna Calder", "John Smith")
DIMENSION = 16
TEXTS = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4).map(" ".join)
METADATA: st.SearchStrategy[dict[str, Any]] = st.sampled_from([{}, {}, {"year": 1963}, {"note": "ein Wörtchen"}])


def vector(seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    made = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    return (made / np.linalg.norm(made)).astype(np.float32)


def passages(names: st.SearchStrategy[str], *, with_vectors: bool) -> st.SearchStrategy[tuple[Passage, ...]]:
    vectors = st.none() | st.integers(0, 3).map(vector) if with_vectors else st.none()
    one = st.builds(
        Passage,
        st.sampled_from([*SENTENCES, *SENTENCES, " "]),
        names,
        METADATA,
        vectors,
    )
    return st.lists(one, min_size=1, max_size=3).map(tuple)


@st.composite
def documents(draw: st.DrawFn, ids: st.SearchStrategy[str], *, own: bool, with_vectors: bool) -> Document:
    """Draw a document. With ``own``, no other document has its passage ids."""
    name = draw(ids)
    title = draw(st.sampled_from(TITLES))
    metadata = draw(METADATA)
    if draw(st.booleans()):
        return Document(draw(TEXTS), id=name, title=title, metadata=metadata)
    names = st.sampled_from([f"{name}/{place}" if own else f"p{place}" for place in range(5)])
    given = draw(passages(names, with_vectors=with_vectors))
    return Document(id=name, title=title, metadata=metadata, passages=given)


def some_documents(count: int, first: int = 0) -> list[Document]:
    return [
        Document(
            " ".join(SENTENCES[(place + step) % len(SENTENCES)] for step in range(3)) + f" Number {place}.",
            title=f"{TITLES[place % len(TITLES)]} {place}",
            id=f"n{place}",
        )
        for place in range(first, first + count)
    ]
