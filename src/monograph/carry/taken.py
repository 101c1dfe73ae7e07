"""Results of reading another store: a document ready to be stored, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from monograph.errors import InvalidDocument

if TYPE_CHECKING:
    from monograph.values import AssertedNode, AssertedRelation, Document, Float32, Problem

KINDS: Mapping[str, str] = {
    "jsonl": "a folder that monograph export wrote",
    "chroma": "a folder of Chroma's",
    "lightrag": "a working folder of LightRAG's",
    "graphrag": "a folder of GraphRAG's output",
    "ragdb": "a file of RAGdb's",
}
"""What can be imported, by the name of its kind."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A document, and the vectors that the file's own embedder once made of its passages.

    ``made`` has one for each passage, None where there is none; it is empty where nothing is known to be made so.
    """

    document: Document
    made: tuple[Float32 | None, ...] = ()


Items: TypeAlias = "Iterator[Taken | Problem]"


def taken(where: str, make: Callable[[], Document], made: tuple[Float32 | None, ...] = ()) -> Taken | Problem:
    """A document, or the problem that it cannot be one; ``where`` names the record."""
    from monograph.values import Problem

    try:
        return Taken(make(), made)
    except InvalidDocument as error:
        return Problem(where, error.message, error.hint)


@dataclass(frozen=True, slots=True)
class Store:
    """Another store, opened.

    Parameters
    ----------
    documents:
        How many it holds.
    items:
        These one by one; told whether their vectors are wanted.
    embedder:
        The key of what made its vectors, where they are Monograph's own: they are wanted where the file has the same.
    dimension:
        Of vectors that all came from outside, else 0.
    told:
        What callers told of things, by which of the documents or their chunks.
    """

    documents: int
    items: Callable[[bool], Items]
    embedder: str = ""
    dimension: int = 0
    assertions: Callable[[], Iterator[AssertedNode | AssertedRelation]] = lambda: iter(())
