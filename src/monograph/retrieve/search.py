"""One query through the retrievers that its mode names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from monograph.errors import InputError
from monograph.models import Embedder, Float32
from monograph.retrieve import dense, fuse, graph, lexical, minirag, paths, tfidf, tree
from monograph.retrieve.nearest_names import NearestNames
from monograph.retrieve.question import Question, take_apart
from monograph.retrieve.ranking import Ranking
from monograph.store import chunks
from monograph.store import tree as stored_tree
from monograph.store.database import Connection, path_of
from monograph.store.filters import EVERYTHING, Allowed
from monograph.values import Hit, Mode, Origin, Path
from monograph.vectors.index import EcoVectorIndex

MODES: tuple[Mode, ...] = get_args(Mode)

POOL = 100
"""Candidates each retriever gives to a fusion; k when that is more. Scores are relative to them: to ask for more hits
must not change the first ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What is asked, in a mode that is not ``auto`` any more.

    ``vector`` is the embedded query, None in the modes without one, unless it came with the query. ``question`` is the
    query taken apart, and ``clause_vectors`` its clauses embedded, float32 (clauses, dimension), in the mode ``graph``.
    ``alpha`` is what the vectors' score counts in ``hybrid``, of 1; None goes by the weights of
    :mod:`monograph.retrieve.fuse`. ``types`` are what a model says the answer may be, for MiniRAG's formulas.
    """

    query: str
    k: int
    mode: Mode
    vector: Float32 | None = None
    allowed: Allowed = EVERYTHING
    question: Question | None = None
    clause_vectors: Float32 | None = None
    alpha: float | None = None
    types: tuple[str, ...] = ()


FUSION: fuse.Method = "z_score"
"""How rankings are fused; benchmarks/fusion.py holds it against the other."""


def needs_vector(mode: Mode) -> bool:
    """Whether a mode needs the query's vector."""
    return mode in ("dense", "hybrid", "graph", "tree")


def balanced(mode: Mode, alpha: float | None) -> Mode:
    """The mode that is meant by ``hybrid`` with a weight: at either end it is one of the two alone.

    Raises
    ------
    InputError
        If the weight is out of range, or given in another mode.
    """
    if alpha is None:
        return mode
    if mode != "hybrid":
        raise InputError(f"alpha belongs to the mode 'hybrid', not to {mode!r}", 'give mode="hybrid"')
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha is {alpha:g}", "give 0 (words alone) to 1 (vectors alone)")
    ends: dict[float, Mode] = {0: "lexical", 1: "dense"}
    return ends.get(alpha, mode)


def given_vector(vector: Sequence[float] | Float32 | None) -> Float32 | None:
    """A vector that came with a query, as float32 (dimension,).

    Raises
    ------
    InputError
        If it is not a row of numbers.
    """
    if vector is None:
        return None
    try:
        made = np.asarray(vector, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"the query's vector is not numbers: {error}", "give a list of floats") from error
    if made.ndim != 1:
        raise InputError(f"the query's vector has shape {made.shape}", "give one vector, a list of floats")
    return made


def check_faithful(mode: Mode) -> None:
    """Raise InputError unless a mode has formulas of MiniRAG."""
    if mode != "graph":
        raise InputError(f"faithful belongs to the mode 'graph', not to {mode!r}", 'give mode="graph"')


def portion(k: int, mode: Mode, detail: float | None, budget: int | None) -> tree.Portion | None:
    """How much of the tree is asked for; None in the other modes.

    Raises
    ------
    InputError
        If a number is out of range, or given in another mode.
    """
    if mode != "tree":
        if detail is not None or budget is not None:
            raise InputError(f"detail and budget belong to the mode 'tree', not to {mode!r}", 'give mode="tree"')
        return None
    if detail is not None and not 0 <= detail <= 1:
        raise InputError(f"detail is {detail:g}", "give a share from 0 to 1")
    if budget is not None and budget < 0:
        raise InputError(f"budget is {budget}", "give 0 or more tokens")
    return tree.Portion(k, detail, budget)


def need_tree(connection: Connection) -> None:
    """Raise InputError where the file has no tree of summaries."""
    if not stored_tree.exists(connection):
        path = path_of(connection)
        raise InputError(f"{path} has no tree of summaries", f"monograph resummarize {path}")


def search_tree(connection: Connection, indexes: tree.Indexes, request: Request, asked: tree.Portion) -> list[Hit]:
    """As :func:`search` in the mode ``tree``.

    Raises
    ------
    InputError
        If the file has no tree.
    """
    need_tree(connection)
    if request.k <= 0 or request.vector is None:
        return []
    return tree.search(connection, indexes, request.vector, asked, request.allowed)


def prepare(connection: Connection, embedder: Embedder | None, request: Request) -> Request:
    """Embed what a mode needs embedded, all at once.

    Raises
    ------
    ModelError
        If the embedder fails.
    """
    if embedder is None or not needs_vector(request.mode):
        return request
    question = take_apart(connection, request.query) if request.mode == "graph" else None
    clauses = question.clauses if question is not None else ()
    made = embedder.embed([request.query, *clauses] if request.vector is None else clauses, "query")
    if request.vector is not None:
        return replace(request, question=question, clause_vectors=made)
    return replace(request, vector=made[0], question=question, clause_vectors=made[1:])


def search(connection: Connection, index: EcoVectorIndex, request: Request) -> list[Hit]:
    """The k best hits, best first; fewer where fewer chunks match or are allowed."""
    if request.k <= 0:
        return []
    pool = max(POOL, request.k)
    query, allowed = request.query, request.allowed
    rankings: list[Ranking] = []
    lifts: list[Ranking] = []
    if request.mode == "tfidf":
        rankings.append(tfidf.search(connection, query, request.k, allowed))
    if request.mode in ("lexical", "hybrid", "graph"):
        rankings.append(lexical.bm25(connection, query, pool, allowed))
        lifts.append(lexical.word_for_word(connection, "exact", lexical.codes(query), pool, allowed))
        lifts.append(lexical.word_for_word(connection, "phrase", lexical.phrases(query), pool, allowed))
    if request.vector is not None and needs_vector(request.mode):
        rankings.append(dense.search(connection, index, request.vector, pool, allowed))
    if request.question is not None and request.clause_vectors is not None:
        weighted = [(one, fuse.WEIGHTS[one.retriever]) for one in rankings]
        found = graph.walk(connection, request.question, weighted, request.clause_vectors, allowed)
        return _by_graph(connection, request.k, found, rankings, lifts)
    weights = fuse.WEIGHTS if request.alpha is None else {"lexical": 1 - request.alpha, "dense": request.alpha}
    fused = fuse.alone(rankings[0], lifts) if len(rankings) == 1 else fuse.fuse(rankings, lifts, FUSION, weights)
    return _hits(connection, fused[: request.k])


def search_faithfully(
    connection: Connection,
    index: EcoVectorIndex,
    nearest: NearestNames,
    request: Request,
    parameters: minirag.Parameters = minirag.DEFAULT_PARAMETERS,
) -> list[Hit]:
    """As :func:`search` in the mode ``graph``, by MiniRAG's own formulas; fewer than k hits where those leave fewer.

    Parameters
    ----------
    connection, index:
        A read transaction, and the file's vectors.
    nearest:
        Finds names near to the question's.
    request:
        As :func:`prepare` gives it.
    parameters:
        What the formulas leave open.
    """
    if request.k <= 0 or request.vector is None or request.question is None:
        return []
    pool = dense.search(connection, index, request.vector, max(POOL, request.k), request.allowed)
    asked = minirag.Asked(request.question, request.vector, request.types)
    found = minirag.search(connection, nearest, asked, pool, request.allowed, parameters)
    fused = fuse.alone(found.ranking, [])[: request.k]
    return _hits(connection, fused, minirag.to_chunks(connection, found, (one.row for one in fused)))


def _by_graph(
    connection: Connection, k: int, found: graph.Walk, rankings: list[Ranking], lifts: list[Ranking]
) -> list[Hit]:
    ordered = graph.in_order(found)
    values = fuse.lifted(dict(ordered), lifts)
    ranks = {row: rank for rank, (row, _) in enumerate(ordered)}
    origins = fuse.origins_of([*rankings, *lifts])
    best = sorted(values, key=lambda row: (-values[row], ranks.get(row, len(ranks)), row))[:k]
    fused = [
        fuse.Fused(row, values[row], (Origin("graph", ranks[row], found.total[row]), *origins.get(row, ())))
        if row in ranks
        else fuse.Fused(row, values[row], origins[row])
        for row in best
    ]
    led = paths.to_chunks(connection, found, best)
    return _hits(connection, fused, led)


def _hits(connection: Connection, fused: list[fuse.Fused], led: dict[int, Path] | None = None) -> list[Hit]:
    found = chunks.load(connection, (one.row for one in fused))
    return [
        Hit(
            one.chunk, scored.score, rank, one.title, one.uri, one.metadata, scored.origins, (led or {}).get(scored.row)
        )
        for rank, (one, scored) in enumerate(zip(found, fused, strict=True))
    ]
