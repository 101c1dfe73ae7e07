"""Graph search: the default walk, made into hits with a readable path to each.

The first passage often states what the question leaves open: a passage about a film names its director. An embedder
that reads texts in context embeds the question and that passage as one text, and the passage about the director is then
near to it (pseudo-relevance feedback). Embedders that average word vectors only add the words of both, which the graph
does better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monograph import telemetry
from monograph.graph.evidence import COVERED
from monograph.search import fusion, rerank, walk, words
from monograph.search.fusion import POOL, Ranking, highest, ranking
from monograph.search.reader import WalkRequest
from monograph.values import Origin, Path, PathNode

if TYPE_CHECKING:
    from monograph.search.query import Query
    from monograph.search.question import Question
    from monograph.search.reader import Reader
    from monograph.search.walk import Walk
    from monograph.store.documents.chunks import LoadedChunk
    from monograph.values import Float32, Hit

READ = 3
"""Number of most probable chunks that are embedded together with the question."""

EXCERPT = 250
"""Characters of each of these chunks."""

LONGEST = 4
"""Most links of a path."""

SHOWN = 40
"""Characters that are shown of a chunk whose document has no title."""


def search(reader: Reader, query: Query, question: Question) -> list[Hit]:
    """Return at most ``query.k`` hits along the graph; ``question`` is the parsed query."""
    pool = max(POOL, query.k)
    if query.vector is None:
        vector, *_ = made = reader.models.embed([query.text, *question.clauses])
        clause_vectors = made[1:]
    else:
        vector, clause_vectors = query.vector, reader.models.embed(question.clauses)
    entities = reader.names.members({one.name.head for one in question.names})
    names = dict.fromkeys([one.name.row for one in question.names])
    for some in entities.values():
        names.update(dict.fromkeys([one.row for one in some]))
    asked = WalkRequest(names, question.words, clause_vectors)
    found_pool, rankings = words.pool(reader, query, question.counts, pool, vector, asked)
    matches = words.matches(reader, query, question.counts, pool)
    weighted = [(one, fusion.WEIGHTS[one.retriever]) for one in fusion.with_zeros(rankings)]
    found = walk.walk(reader, question, entities, weighted, found_pool, query.filter)
    in_context: dict[int, float] = {}
    if getattr(reader.models.embedder, "contextual", False) is True:
        near = feedback(reader, query.text, found.scores.chances(), reader.models.embed)
        rankings.append(near)
        in_context = dict(zip(near.rows, near.scores, strict=True))
    # Among the chunks without a match, only the first k can be among the k best.
    most = None if sum([len(one.rows) for one in matches]) else query.k
    head = walk.head(found, in_context, most)
    first = rerank.NOTHING
    if query.reranker is not None:
        first = rerank.chunks(reader, query, head.by_chance())
    ordered = walk.in_order(found, head.put(first), most)
    return _hits(query.k, found, ordered, _Rankings(rankings, matches, first))


@telemetry.traced("monograph.search.context")
def feedback(
    reader: Reader, question: str, chances: Mapping[int, float], embed: Callable[[Sequence[str]], Float32]
) -> Ranking:
    """Return the ranking of the COVERED most probable chunks by cosine to the question in context.

    The question is embedded together with each of the READ most probable chunks.

    Parameters
    ----------
    reader:
        The corpus.
    question:
        The text of the question.
    chances:
        Probability of each chunk to be evidence, by row.
    embed:
        Returns float32 (n, dimension) for n texts, rows of unit length.

    Returns
    -------
    The chunks that have a vector, by the highest of their cosines.
    """
    best = highest(reader, chances, COVERED)
    texts = [text[:EXCERPT] for _, text in reader.titled_texts(best[:READ])]
    cosines: dict[int, float] = {}
    if texts:
        together = embed([f"{question} {text}" for text in texts])
        rows, each = reader.cosines(best, together)
        cosines = {row: float(max(some)) for row, *some in zip(rows.tolist(), *each, strict=True)}
    return ranking(reader, "feedback", cosines.items(), COVERED)


@dataclass(frozen=True, slots=True)
class _Rankings:
    """Other scores of chunks: of retrievers, of word-for-word matches, and of a reranker."""

    retrievers: Sequence[Ranking]
    matches: Sequence[Ranking]
    first: rerank.Reordered


def _hits(k: int, found: Walk, ordered: Sequence[tuple[int, float]], others: _Rankings) -> list[Hit]:
    """Return the k best hits of the chunks that a walk ordered, raised by their word-for-word matches."""
    matches = others.matches
    matched = {row for one in matches for row in one.rows}
    values = fusion.lifted(dict(ordered), matches)
    ranks = {row: rank for rank, (row, _) in enumerate(ordered)}
    # A chunk that the walk did not reach has a match but no rank.
    may_be = matched.union([row for row, _ in ordered[: k + len(matched)]])
    ids = found.snapshot.ids(matched - ranks.keys()) if matched else {}
    keys = sorted([(-values[row], ranks.get(row, len(ranks)), ids.get(row, ""), row) for row in may_be])
    best = [row for *_, row in keys[:k]]
    chances = {row: found.scores.chance(row) for row in best}
    evidence = dict(chances)
    if others.first.rows:
        evidence |= others.first.handed_on({row: found.scores.chance(row) for row in others.first.rows})
    for one in matches:
        for row, score in zip(one.rows, one.scores, strict=True):
            if row in evidence:
                evidence[row] = max(score, evidence[row])
    origins = fusion.origins_of([*others.retrievers, *matches, others.first.ranking], set(best))
    for row in best:
        if row in ranks:
            origins[row] = (Origin("graph", ranks[row], chances[row]), *origins.get(row, ()))
    relevance = dict(zip(best, fusion.shares_of([evidence[row] for row in best]), strict=True))
    loaded, ways = _paths(found, best)
    return fusion.hits_of(loaded, values, relevance, origins, ways)


def _paths(found: Walk, best: Sequence[int]) -> tuple[dict[int, LoadedChunk], dict[int, Path]]:
    """Return (chunks that can be read, most probable path to each that was reached over the graph), by row.

    Chunks that were found by themselves have no path.
    """
    ways = {row: way for row in best if (way := _way(found, row)) is not None}
    where: dict[int, int] = {}
    for way in ways.values():
        where.update(way.links)
    for way in ways.values():
        if way.head in found.asked:
            where[found.asked[way.head]] = way.head
    seen = {*best, *[way.head for way in ways.values()]}
    loaded, shown = found.snapshot.show(sorted(seen), where)
    paths = {}
    for row, way in ways.items():
        if row in loaded and way.head in loaded:
            asked = found.asked.get(way.head)
            nodes = [PathNode("question", "", "question")]
            if asked is not None:
                nodes.append(PathNode("entity", *shown[asked]))
            elif way.head != row:
                nodes.append(chunk_node(loaded[way.head]))
            for name, _ in way.links:
                if nodes[-1].name != shown[name][1]:
                    nodes.append(PathNode("entity", *shown[name]))
            paths[row] = Path((*nodes, chunk_node(loaded[row])), way.chance)
    return loaded, paths


@dataclass(frozen=True, slots=True)
class _Way:
    """Path to a chunk: its first chunk, the (name, chunk that has it) of its links in order, and its probability."""

    head: int
    links: tuple[tuple[int, int], ...]
    chance: float


def _way(found: Walk, row: int) -> _Way | None:
    """Return the most probable path to a chunk; None for a chunk found by itself."""
    links: list[tuple[int, int]] = []
    at, chance = row, found.scores.own(row)
    passed = {row}
    while len(links) < LONGEST:
        led, through = found.scores.to(at)
        if not led:
            break
        (start,) = highest(found.snapshot, led, 1)
        if led[start] <= found.scores.own(at) or start in passed:
            break
        chance = chance if links else led[start]
        links.insert(0, (through[start], start))
        passed.add(start)
        at = start
    return _Way(at, tuple(links), chance) if links or at in found.asked else None


def chunk_node(one: LoadedChunk) -> PathNode:
    """Return the last node of a path: a chunk, shown by its document's title or its first words."""
    text = one.title or " ".join(one.chunk.text[:SHOWN].split())
    return PathNode("chunk", one.chunk.id, text)
