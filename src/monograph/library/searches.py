"""A search of an open file, by the strategy that is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from monograph import where as filters
from monograph.answer.answer_types import answer_types
from monograph.answer.cache import AnswerCache
from monograph.errors import InputError
from monograph.library.opened import OpenFile
from monograph.search.how import strategy
from monograph.search.relevance import settled
from monograph.search.strategy import Corpus, Query, Strategy, given_vector
from monograph.store.filters import Allowed, compile_condition
from monograph.values import Float32, Hit
from monograph.write import configuration


def search(
    file: OpenFile,
    text: str,
    k: int,
    how: str | Strategy,
    where: Mapping[str, Any] | None,
    vector: Sequence[float] | Float32 | None = None,
) -> list[Hit]:
    """See :meth:`monograph.Monograph.search`."""
    if k < 0:
        raise InputError(f"k is {k}", "give 0 or more")
    chosen = strategy(how)
    query = Query(text, k, allowed(where), given_vector(vector))
    return settled(chosen.search(corpus(file), query)) if k else []


def allowed(where: Mapping[str, Any] | None) -> Allowed:
    """Which chunks a filter lets through: see :mod:`monograph.where`. Raises InvalidFilter."""
    return compile_condition(filters.parse(where))


def corpus(file: OpenFile) -> Corpus:
    """An open file as strategies see it."""

    def embed(texts: Sequence[str]) -> Float32:
        # Another process may have given the file another embedder since it was opened.
        configuration.EMBEDDER.check(file.database, file.embedder)
        return file.embedder.embed(texts, "query")

    def types(question: str) -> tuple[str, ...]:
        return () if file.model is None else answer_types(file.model, AnswerCache(file.database), question)

    return Corpus(file.database.read, *file.indexes, embed, file.nearest_names, types)
