"""Results of reading another store: a document that is ready to be stored, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ParamSpec, TypeAlias

from monograph.errors import InvalidDocument

if TYPE_CHECKING:
    from monograph.values import AssertedNode, AssertedRelation, Document, Float32, Problem

P = ParamSpec("P")

KINDS: Mapping[str, str] = {
    "jsonl": "a folder that monograph export wrote",
    "chroma": "a Chroma folder",
    "lightrag": "a LightRAG working folder",
    "graphrag": "a GraphRAG output folder",
    "ragdb": "a RAGdb file",
}
"""Kinds of stores that can be imported, with a description of each."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Imported document, and the vectors of its passages that the file's own embedder once computed.

    ``made`` has one item for each passage, None if it has no such vector. It is empty if no passage has one.
    """

    document: Document
    made: tuple[Float32 | None, ...] = ()


Items: TypeAlias = "Iterator[Taken | Problem]"


def taken(where: str, make: Callable[P, Document], *fields: P.args, **more: P.kwargs) -> Taken | Problem:
    """Return the imported document of these fields, or the problem with it; ``where`` names the record."""
    from monograph.values import Problem

    try:
        return Taken(make(*fields, **more))
    except InvalidDocument as error:
        return Problem(where, error.message, error.hint)


@dataclass(frozen=True, slots=True)
class Store:
    """Another store, opened for import.

    Parameters
    ----------
    documents:
        Number of documents.
    items:
        Yields the documents one by one. Its argument says whether their vectors are wanted.
    embedder:
        Key of the embedder that computed its vectors, if that is one of Monograph's. They are wanted if the file has
        the same embedder.
    dimension:
        Number of values of its vectors if all came from outside, else 0.
    assertions:
        Yields the assertions of the store, with the documents or chunks that they come from.
    """

    documents: int
    items: Callable[[bool], Items]
    embedder: str = ""
    dimension: int = 0
    assertions: Callable[[], Iterator[AssertedNode | AssertedRelation]] = lambda: iter(())
