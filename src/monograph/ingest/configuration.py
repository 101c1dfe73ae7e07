"""What a file was built with, and must go on being built with: its settings and its models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monograph.derive.embed import GivenVectors, load_embedder
from monograph.derive.extract import load_extractor
from monograph.derive.summarize import load_summarizer
from monograph.errors import InputError, ModelMismatch
from monograph.graph.build import GRAPH
from monograph.models import Embedder, Extractor, Summarizer
from monograph.settings import Settings
from monograph.store import clusters
from monograph.store import settings as stored_settings
from monograph.store.database import Connection, Database
from monograph.values import Document, Mode
from monograph.vectors.index import EcoVectorIndex


def settle(database: Database, given: Settings | None) -> Settings:
    """The settings a file was built with; a new file gets the ones given.

    Raises
    ------
    InputError
        If it was built with others than the ones given.
    """
    with database.read() as connection:
        stored = stored_settings.load(connection)
    if stored is None and not database.read_only:
        with database.write() as connection:
            stored = stored_settings.load(connection)
            if stored is None:
                stored = given or Settings()
                stored_settings.save(connection, stored)
    built = stored or Settings()
    if given is not None and given != built:
        mend = "open it without settings, or make a new file"
        raise InputError(f"{database.path} was built with {built}, not with {given}", mend)
    return built


def catch_up(database: Database, indexes: Sequence[EcoVectorIndex]) -> None:
    """Bring the vector indexes up to date: after a migration, the vectors of the older file wait for it."""
    if not database.read_only:
        with database.read() as connection:
            waiting = [index for index in indexes if clusters.has_stale(connection, index.space)]
        if waiting:
            with database.write() as connection:
                for index in waiting:
                    index.settle(connection)


def known_embedder(database: Database) -> stored_settings.StoredEmbedder | None:
    """The embedder whose vectors a file holds, or None when it holds none yet."""
    with database.read() as connection:
        return stored_settings.load_embedder(connection)


def check_embedder(database: Database, embedder: Embedder) -> None:
    """Raise ModelMismatch if the file's vectors come from another embedder."""
    stored = known_embedder(database)
    if stored is not None and stored.key != embedder.key:
        raise ModelMismatch(
            f"{database.path} holds vectors of {stored.key!r} ({stored.dimension} values), not of {embedder.key!r}",
            f"open it without an embedder, or make its vectors anew: monograph reembed {database.path} {embedder.spec}",
        )


def make_embedder(database: Database) -> Embedder:
    """The embedder that a file was built with, made again; static word vectors for a new file.

    Raises
    ------
    ModelUnavailable, MissingExtra
        If it cannot be made here.
    ModelMismatch
        If its model is another by now.
    """
    stored = known_embedder(database)
    embedder = load_embedder(stored.spec if stored is not None else "static")
    check_embedder(database, embedder)
    return embedder


def outside_embedder(database: Database, given: Iterable[Document]) -> Embedder | None:
    """What stands for the embedder of a new file all of whose passages bring their vectors; None for any other."""
    passages = [passage for document in given for passage in document.passages]
    if not passages or known_embedder(database) is not None or any(one.vector is None for one in passages):
        return None
    return GivenVectors(len(passages[0].vector)) if passages[0].vector is not None else None


def adopt_embedder(database: Database, embedder: Embedder) -> None:
    """Make an embedder the file's own, unless it has one. Raises ModelMismatch if that is another."""
    if known_embedder(database) is None:
        with database.write() as connection:
            if stored_settings.load_embedder(connection) is None:
                stored = stored_settings.StoredEmbedder(embedder.key, embedder.spec, embedder.dimension)
                stored_settings.save_embedder(connection, stored)
    check_embedder(database, embedder)


def known_extractor(database: Database) -> stored_settings.StoredExtractor | None:
    """The extractor that a file's graph is made with, or None when it has none yet."""
    with database.read() as connection:
        return stored_settings.load_extractor(connection)


def check_extractor(database: Database, extractor: Extractor) -> None:
    """Raise ModelMismatch if the file's graph is made with another extractor."""
    stored = known_extractor(database)
    if stored is not None and stored.key != extractor.key:
        raise ModelMismatch(
            f"the graph of {database.path} is made with {stored.key!r}, not with {extractor.key!r}",
            f"open it without an extractor, or make it anew: monograph reextract {database.path} {extractor.spec}",
        )


def make_extractor(database: Database) -> Extractor:
    """The extractor that a file's graph is made with, made again; patterns for a new file.

    Raises
    ------
    ModelUnavailable, MissingExtra
        If it cannot be made here.
    ModelMismatch
        If its model is another by now.
    """
    stored = known_extractor(database)
    extractor = load_extractor(stored.spec if stored is not None else "pattern")
    check_extractor(database, extractor)
    return extractor


def known_summarizer(database: Database) -> stored_settings.StoredSummarizer | None:
    """The summarizer that a file's tree is made with, or None where it has no tree."""
    with database.read() as connection:
        return stored_settings.load_summarizer(connection)


def check_summarizer(database: Database, summarizer: Summarizer) -> None:
    """Raise ModelMismatch if the file's tree is made with another summarizer."""
    stored = known_summarizer(database)
    if stored is not None and stored.key != summarizer.key:
        raise ModelMismatch(
            f"the tree of {database.path} is made with {stored.key!r}, not with {summarizer.key!r}",
            f"open it without a summarizer, or make it anew: monograph resummarize {database.path} {summarizer.spec}",
        )


def make_summarizer(database: Database) -> Summarizer:
    """The summarizer that a file's tree is made with, made again; the extractive one where there is no tree.

    Raises
    ------
    ModelUnavailable, MissingExtra
        If it cannot be made here.
    ModelMismatch
        If its model is another by now.
    """
    stored = known_summarizer(database)
    summarizer = load_summarizer(stored.spec if stored is not None else "extractive")
    check_summarizer(database, summarizer)
    return summarizer


def adopt_summarizer(database: Database, summarizer: Summarizer) -> None:
    """Make a summarizer the file's own, unless it has one: from now on the file has a tree.

    Raises
    ------
    ModelMismatch
        If it has another.
    """
    if known_summarizer(database) is None:
        with database.write() as connection:
            if stored_settings.load_summarizer(connection) is None:
                stored_settings.save_summarizer(
                    connection, stored_settings.StoredSummarizer(summarizer.key, summarizer.spec)
                )
    check_summarizer(database, summarizer)


def chosen_mode(connection: Connection, mode: Mode) -> Mode:
    """What ``auto`` means in a file: ``graph``, or ``hybrid`` until it has one. The other modes mean themselves."""
    if mode != "auto":
        return mode
    stored = stored_settings.load_extractor(connection)
    return "graph" if stored is not None and stored.graph == GRAPH else "hybrid"
