"""Results of reading another store. Each record gives a document that is ready to be stored, or a problem."""

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
"""{kind: description} of the stores that can be imported."""


@dataclass(frozen=True, slots=True)
class ImportedDocument:
    """Imported document, with the vectors that the embedder of the other store computed for its passages.

    ``made`` has one item for each passage: the vector that the embedder computed, float32, or None. An item is None
    if the passage has no vector, or its vector is in ``Passage.vector``. If all items would be None, ``made`` may be
    empty.
    """

    document: Document
    made: tuple[Float32 | None, ...] = ()


Items: TypeAlias = "Iterator[ImportedDocument | Problem]"


def import_document(
    where: str, make: Callable[P, Document], *fields: P.args, **more: P.kwargs
) -> ImportedDocument | Problem:
    """Call ``make`` with the fields of a document, and return the document as :class:`ImportedDocument`.

    If the fields are invalid, return the problem. ``where`` names the record in the problem.
    """
    from monograph.values import Problem

    try:
        return ImportedDocument(make(*fields, **more))
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
        Yields a document or a problem for each record. The argument says whether to read vectors.
    embedder:
        Key of the embedder that computed the vectors, if it is an embedder of Monograph; else empty. The vectors are
        used if the importing file has the same embedder.
    dimension:
        Number of values of each vector, if an embedder outside Monograph computed all vectors; else 0.
    assertions:
        Yields the assertions of the store. Each names the documents or chunks that it comes from.
    """

    documents: int
    items: Callable[[bool], Items]
    embedder: str = ""
    dimension: int = 0
    assertions: Callable[[], Iterator[AssertedNode | AssertedRelation]] = lambda: iter(())
