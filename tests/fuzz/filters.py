"""Random filters, given to the library, the command line, LlamaIndex and LangChain."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from fuzz import Case, Draw
from fuzz.typed import invoke, typed
from monograph import Document, Monograph
from monograph.errors import InputError, MissingExtra
from monograph.where import FIELDS, OPERATORS
from support.bad_inputs import altered, nested, number, scalar, text, tree, written

KEYS = (
    "year",
    "tags",
    "who",
    "deep",
    "none",
    "flag",
    "share",
    "a.b",
    "",
    'q"uote',
    "missing",
    *FIELDS,
    "$none",
    "and",
    "Or",
)
SPELLED = (
    *OPERATORS, "=", "eq", "$eq", "$ne", "gt", "$gte", "lt", "$lte", "not in", "not_in", "$in", "$nin", "IN", "like", "", "$",
)  # fmt: skip
METADATA: tuple[dict[str, Any], ...] = (
    {"year": 2019, "tags": ["a", "b"], "who": "Ann", "deep": {"year": 1}, "none": None, "flag": True, "share": 0.5},
    {
        "year": 2**62,
        "tags": [],
        "who": "",
        "deep": [[1]],
        "flag": False,
        "share": -1e300,
        "a.b": "x",
        "": 0,
        'q"uote': "y",
    },
    {"year": "2019", "tags": "ab", "who": "annİß", "share": 0, "none": "null"},
)


@contextmanager
def cases(folder: Path) -> Iterator[Draw]:
    """Draw filters, each for one of the interfaces."""
    path = folder / "filters.mono"
    with Monograph.open(path) as opened:
        opened.add(
            Document(f"Note {at} on the comet.", id=f"d{at}", title=f"T{at}", metadata=METADATA[at % len(METADATA)])
            for at in range(12)
        )
        ways = [partial(_library, opened), partial(_command_line, path), *_of_frameworks(opened)]

        def draw(chosen: random.Random) -> Case:
            way = chosen.choice(ways)
            drawn = _nodes_filter(chosen) if way.func is _llama_index else _filter(chosen)
            return f"{way.func.__name__} {written(drawn)}", partial(way, drawn, chosen)

        yield draw


def _filter(chosen: random.Random, depth: int = 0) -> Any:
    """Draw a filter, mostly a plausible one, rarely any JSON or one that is nested too deep."""
    kind = chosen.randrange(24)
    if depth == 0 and kind == 0:
        return tree(chosen)
    if depth == 0 and kind == 1:
        return nested(chosen, chosen.choice((20, 33, 300, 5_000)), chosen.choice(("not", "$and", "or", "year")))
    if depth == 0 and kind == 2:
        return {chosen.choice(("or", "and")): [{"year": _operand(chosen)}] * chosen.choice((2, 90, 990))}
    if depth == 0 and kind == 3:
        return altered(_filter(chosen, 1), chosen)
    if depth < 4 and kind < 9:
        return {
            chosen.choice(("and", "or", "not", "$or")): [_filter(chosen, depth + 1) for _ in range(chosen.randrange(4))]
        }
    held = {chosen.choice(KEYS): _condition(chosen) for _ in range(chosen.choice((1, 1, 2, 3)))}
    return held | ({text(chosen): _condition(chosen)} if kind == 10 else {})


def _condition(chosen: random.Random) -> Any:
    if chosen.random() < 0.3:
        return _operand(chosen)
    return {chosen.choice(SPELLED): _operand(chosen) for _ in range(chosen.choice((1, 1, 2)))}


def _operand(chosen: random.Random) -> Any:
    kind = chosen.randrange(8)
    if kind == 0:
        return tree(chosen)
    if kind == 1:
        return number(chosen)
    if kind < 4:
        return [scalar(chosen) for _ in range(chosen.choice((0, 1, 3)))] * chosen.choice((1, 1, 1, 300))
    return chosen.choice(("a", "Ann", 2019, "", True, None, 0.5, "d1"))


def _nodes_filter(chosen: random.Random, depth: int = 0) -> Any:
    """Draw a filter in LlamaIndex's format."""
    if depth == 0 and chosen.random() < 0.1:
        return altered(_nodes_filter(chosen, 1), chosen)
    some = [
        _nodes_filter(chosen, depth + 1)
        if depth < 4 and chosen.random() < 0.3
        else {
            "key": chosen.choice((*KEYS, text(chosen))),
            "value": _operand(chosen),
            "operator": chosen.choice(OPERATORS),
        }
        for _ in range(chosen.choice((0, 1, 1, 2, 5)))
    ]
    return {"filters": some, "condition": chosen.choice(("and", "or", "not", None))}


def _library(opened: Monograph, drawn: Any, chosen: random.Random) -> None:
    if chosen.random() < 0.5:
        opened.fetch(where=drawn)
        return
    how = chosen.choice(("auto", "dense", "lexical", "tfidf", "hybrid", "graph"))
    opened.search("the comet", chosen.randrange(5), how, drawn)


def _command_line(path: Path, drawn: Any, chosen: random.Random) -> None:
    said = written(drawn) if chosen.random() < 0.7 else f"{text(chosen)} {chosen.choice(SPELLED)} {written(drawn)}"
    how = chosen.choice(("lexical", "hybrid"))
    invoke(["search", str(path), "comet", "--how", how, "--where", typed(said)])


def _of_frameworks(opened: Monograph) -> list[partial[None]]:
    """Return the functions that search through the installed frameworks."""
    ways: list[partial[None]] = []
    try:
        from llama_index.vector_stores.monograph import EcoVectorStore as Nodes

        ways.append(partial(_llama_index, Nodes(opened)))
    except (ImportError, MissingExtra):
        pass
    try:
        from langchain_monograph import EcoVectorStore

        ways.append(partial(_langchain, EcoVectorStore(opened)))
    except (ImportError, MissingExtra):
        pass
    return ways


def _llama_index(store: Any, drawn: Any, chosen: random.Random) -> None:
    from llama_index.core.vector_stores.types import MetadataFilters, VectorStoreQuery, VectorStoreQueryMode
    from pydantic import ValidationError

    try:
        filters = MetadataFilters.model_validate_json(json.dumps(drawn))
    except (ValidationError, RecursionError, UnicodeEncodeError) as error:
        raise InputError(f"LlamaIndex has no such filter: {type(error).__name__}") from None
    ids = [text(chosen) for _ in range(2)] if chosen.random() < 0.2 else None
    if chosen.random() < 0.4:
        store.get_nodes(ids, filters)
        return
    mode = VectorStoreQueryMode(chosen.choice(("default", "sparse", "hybrid", "mmr", "text_search")))
    k = chosen.randrange(4)
    store.query(
        VectorStoreQuery(query_str="comet", mode=mode, filters=filters, doc_ids=ids, similarity_top_k=k, alpha=0.5)
    )


def _langchain(store: Any, drawn: Any, chosen: random.Random) -> None:
    how = chosen.choice(("dense", "lexical", "hybrid"))
    if chosen.random() < 0.2:
        store.max_marginal_relevance_search("comet", 2, filter=drawn)
        return
    store.similarity_search_with_score("comet", chosen.randrange(4), filter=drawn, how=how)
