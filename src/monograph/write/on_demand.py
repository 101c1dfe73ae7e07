"""What a file makes when it is first asked for: its graph, and the trigrams that substring search reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from monograph.store import check_terms, chunks, settings, terms
from monograph.store.database import Connection, Database
from monograph.store.lacking import BEFORE_ALL, documents_lacking
from monograph.store.settings import OnDemand
from monograph.values import Cost, OnProgress, Owed, Progress
from monograph.vectors.index import EcoVectorIndex
from monograph.write import rebuild_graph, recode_vectors
from monograph.write.graph import Extracted, price_extractions
from monograph.write.pipeline import Pipeline, telling_refusals

DOCUMENTS_AT_ONCE = 256


def owed(connection: Connection, indexes: Sequence[EcoVectorIndex]) -> Owed:
    """What is still to be made of the documents that are stored."""
    waiting = settings.load_on_demand(connection)
    return Owed(
        len(documents_lacking(connection, "graph")) if "graph" in waiting else 0,
        len(documents_lacking(connection, "trigrams")) if "substrings" in waiting else 0,
        recode_vectors.owed(connection, indexes),
    )


@telling_refusals
def make(pipeline: Pipeline, what: Collection[OnDemand], on_progress: OnProgress | None = None) -> Extracted:
    """Make what is still to be made, a batch of documents at a time; from now on it is made with the documents.

    Killed before the end, what is made stays, and the rest is still to be made.
    """
    with pipeline.database.read() as connection:
        waiting = settings.load_on_demand(connection)
    due = waiting & set(what)
    extracted = rebuild_graph.complete(pipeline, on_progress) if "graph" in due else Extracted()
    if "substrings" in due:
        _index_trigrams(pipeline.database, on_progress)
    return extracted


def price(pipeline: Pipeline) -> Cost:
    """What making the graph would take: the chunks that the extractor would be given, and what it asks a model."""
    cost = Cost()
    priced: set[bytes] = set()
    with pipeline.database.read() as connection:
        rows = documents_lacking(connection, "graph")
        for row in rows:
            given = [one.chunk for one in chunks.of_document(connection, row)]
            more = price_extractions(connection, pipeline.extractor, given, priced)
            cost = Cost(
                documents=len(rows),
                extractions=cost.extractions + more.chunks,
                model_calls=cost.model_calls + more.calls,
                model_tokens=cost.model_tokens + more.tokens,
            )
    return cost


def _index_trigrams(database: Database, on_progress: OnProgress | None) -> None:
    with database.read() as connection:
        total = len(documents_lacking(connection, "trigrams"))
    done = 0
    while not _finish(database):
        after = BEFORE_ALL
        while rows := _index_some(database, after):
            after, done = rows[-1], done + len(rows)
            if on_progress is not None:
                on_progress(Progress("substrings", done, max(done, total), "documents"))


def _index_some(database: Database, after: int) -> list[int]:
    """Index the trigrams of the next documents that lack them; returns their rows."""
    with database.write() as connection:
        rows = documents_lacking(connection, "trigrams", after, DOCUMENTS_AT_ONCE)
        entries = [one for row in rows for one in check_terms.entries_of(connection, row)]
        held = terms.with_trigrams(connection, [one.chunk for one in entries])
        terms.add_trigrams(connection, [one for one in entries if one.chunk not in held])
    return rows


def _finish(database: Database) -> bool:
    with database.write() as connection:
        if documents_lacking(connection, "trigrams", most=1):
            return False
        settings.save_on_demand(connection, settings.load_on_demand(connection) - {"substrings"})
    return True
