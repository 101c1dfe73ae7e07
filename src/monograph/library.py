"""The one class users hold: it composes the parts and decides nothing.

Longer than 400 lines because everything a user may call stands here, with all that it promises.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from monograph import where as filters
from monograph.answer import abstain, ahead, asked, follow_up
from monograph.answer import ask as asking
from monograph.answer.answer_types import answer_types
from monograph.answer.pack import BUDGET, Counter, Packing, pack
from monograph.answer.reduce import reduce
from monograph.answer.remember import Memory
from monograph.answer.windows import Windows, reduce_to_windows
from monograph.derive.tokens import count_tokens
from monograph.errors import InputError, NotFound
from monograph.graph import export
from monograph.graph.routes import routes as find_routes
from monograph.ingest import apart, build, configuration, follow, foresee, grow, regraph, revector, watch
from monograph.ingest import passages as single
from monograph.ingest import plan as planning
from monograph.ingest import remove as removal
from monograph.ingest.limits import DEFAULT_LIMITS, Limits
from monograph.ingest.prepare import Pipeline
from monograph.models import Embedder, Extractor, Float32, LanguageModel, Summarizer
from monograph.retrieve import entities, lookup, neighbourhood, outline, tree
from monograph.retrieve import merges as merging
from monograph.retrieve import search as retrieval
from monograph.retrieve.nearest_names import NearestNames
from monograph.settings import Settings
from monograph.store import check, chunks, documents, stats
from monograph.store.clusters import SUMMARIES
from monograph.store.database import Connection, Database
from monograph.store.filters import compile_condition
from monograph.tree import verify as verify_tree
from monograph.tree.measure import measure
from monograph.values import (
    CUT,
    Answer,
    Branch,
    Chunk,
    Context,
    Cost,
    Document,
    Entity,
    Finding,
    Followed,
    Happening,
    Hit,
    Merge,
    Mode,
    Neighbourhood,
    Order,
    Plan,
    Reduced,
    Report,
    Route,
    Seconds,
    Stats,
    Stored,
    Turn,
    Watcher,
)
from monograph.vectors import verify
from monograph.vectors.index import DEFAULT_CACHE_BYTES, DEFAULT_TARGET_RECALL, EcoVectorIndex

if TYPE_CHECKING:
    import networkx

FOUND = 10
"""Hits that a context is made of, unless another number is asked for."""

EXPORTED = 1_000
"""Most entities around one that are exported."""


class Monograph:
    """One open .mono file. Safe for use by many threads; a context manager. Made by :meth:`open`."""

    def __init__(  # noqa: PLR0913, PLR0917 - open alone calls it
        self,
        database: Database,
        index: EcoVectorIndex,
        settings: Settings,
        embedder: Embedder | None,
        extractor: Extractor | None,
        summarizer: Summarizer | None = None,
        model: LanguageModel | None = None,
    ) -> None:
        self._database = database
        self._index = index
        self._summaries = EcoVectorIndex(
            SUMMARIES, index.design, target_recall=index.target_recall, cache_bytes=index.cache_bytes
        )
        self._settings = settings
        self._embedder = embedder
        self._extractor = extractor
        self._summarizer = summarizer
        self._model = model
        self._nearest: NearestNames | None = None

    @classmethod
    def open(  # noqa: PLR0913 - each is a choice of its own
        cls,
        path: str | os.PathLike[str],
        embedder: Embedder | None = None,
        extractor: Extractor | None = None,
        summarizer: Summarizer | None = None,
        model: LanguageModel | None = None,
        *,
        settings: Settings | None = None,
        create: bool = True,
        read_only: bool = False,
        target_recall: float = DEFAULT_TARGET_RECALL,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
    ) -> Monograph:
        """Open a file, or make it.

        Parameters
        ----------
        path:
            The .mono file.
        embedder:
            Makes vectors. By default the one the file was built with; for a new file, static word vectors, which need
            no network.
        extractor:
            Finds what chunks name. By default the one the file's graph was made with; for a new file, patterns, which
            need no model.
        summarizer:
            Makes the tree of summaries. By default the one the file's tree was made with; a file without a tree gets
            none. Where one is given, the next write makes a tree, and every later one keeps it in step.
        model:
            Answers :meth:`ask`; it is not stored. Without one, that shows the passages that may hold the answer.
        settings:
            The numbers a new file is built with.
        create:
            Make the file if it is missing.
        read_only:
            Never write.
        target_recall:
            Share of the nearest vectors that a search finds on average before it stops, above 0, at most 1. What that
            takes is measured on the file's own vectors; in a file of few, every vector is compared.
        cache_bytes:
            Memory for clusters of the vector index; 0 reads each from the file whenever it is searched.

        Raises
        ------
        FileError
            If it is not a monograph, newer than this version, or damaged: the file is left as it was.
        ModelMismatch
            If the file's vectors come from another embedder than the one given, its graph from another extractor, or
            its tree from another summarizer; :meth:`reembed`, :meth:`reextract` and :meth:`resummarize` make them anew.
        InputError
            If the file was built with other settings, or a number is out of range.
        """
        index = EcoVectorIndex(target_recall=target_recall, cache_bytes=cache_bytes)
        database = Database(Path(path), create=create, read_only=read_only)
        try:
            chosen = configuration.settle(database, settings)
            monograph = cls(database, index, chosen, embedder, extractor, summarizer, model)
            configuration.catch_up(database, monograph._indexes)
            if embedder is not None:
                configuration.EMBEDDER.check(database, embedder)
            if extractor is not None:
                configuration.EXTRACTOR.check(database, extractor)
            if summarizer is not None:
                configuration.SUMMARIZER.check(database, summarizer)
        except BaseException:
            database.close()
            raise
        return monograph

    def __enter__(self) -> Monograph:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Monograph({str(self.path)!r})"

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    @property
    def settings(self) -> Settings:
        """The numbers the file is built with."""
        return self._settings

    @property
    def embedder(self) -> Embedder:
        """What makes this file's vectors. Loading its model waits for the first text.

        Raises
        ------
        ModelUnavailable, MissingExtra
            If the embedder that the file was built with cannot be made again here.
        ModelMismatch
            If it can, but is another by now.
        """
        if self._embedder is None:
            self._embedder = configuration.EMBEDDER.made_again(self._database)
        return self._embedder

    @property
    def extractor(self) -> Extractor:
        """What finds the names in this file's chunks.

        Raises
        ------
        ModelUnavailable, MissingExtra
            If the extractor that the file's graph was made with cannot be made again here.
        ModelMismatch
            If it can, but is another by now.
        """
        if self._extractor is None:
            self._extractor = configuration.EXTRACTOR.made_again(self._database)
        return self._extractor

    @property
    def summarizer(self) -> Summarizer:
        """What makes this file's summaries; in a file without a tree, what would.

        Raises
        ------
        ModelUnavailable, MissingExtra
            If the summarizer that the file's tree was made with cannot be made again here.
        ModelMismatch
            If it can, but is another by now.
        """
        if self._summarizer is None:
            self._summarizer = configuration.SUMMARIZER.made_again(self._database)
        return self._summarizer

    def close(self) -> None:
        """Close the file. Closing twice is allowed; any other use afterwards raises ClosedFile."""
        self._index.close()
        self._summaries.close()
        self._database.close()

    def plan(
        self,
        *sources: str | os.PathLike[str],
        verify: bool = False,
        prune: bool = False,
        price: bool = True,
        limits: Limits = DEFAULT_LIMITS,
        progress: Watcher | None = None,
    ) -> Plan:
        """Say what :meth:`apply` would do, and what it would cost; nothing is written.

        Parameters
        ----------
        sources:
            Files and folders.
        verify:
            Compare SHA-256 even where size and time of change are as they were.
        prune:
            Take documents out even when a folder that held some is now empty.
        price:
            Read what changed, to say exactly what would be derived. Without it the plan has no cost.
        limits:
            Bounds on what is read.
        progress:
            Told of every file.

        Raises
        ------
        SourceMissing
            If a source does not exist.
        """
        made = planning.make_plan(self._database, _paths(sources), verify=verify, prune=prune)
        return build.price(self._pipeline(), made, limits, progress) if price else made

    def apply(
        self,
        plan: Plan,
        *,
        limits: Limits = DEFAULT_LIMITS,
        progress: Watcher | None = None,
    ) -> Report:
        """Do what a plan says. A source that cannot be read is a problem in the report; what is stored of it stays."""
        return build.apply(self._writing_pipeline(), plan, limits, progress)

    def sync(
        self,
        *sources: str | os.PathLike[str],
        verify: bool = False,
        prune: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        progress: Watcher | None = None,
    ) -> Report:
        """Plan and apply: bring the file up to date with files and folders. Parameters as for :meth:`plan`."""
        plan = self.plan(*sources, verify=verify, prune=prune, price=False)
        return self.apply(plan, limits=limits, progress=progress)

    def sources(self) -> list[Followed]:
        """The files and folders that are synced: what is stored of each, when it was last seen, what failed."""
        return follow.followed(self._database)

    def retry(self, *, limits: Limits = DEFAULT_LIMITS, progress: Watcher | None = None) -> Report:
        """Read again every file that something failed in: an extra may be installed by now, a limit be higher."""
        return self.apply(follow.plan_failed(self._database), limits=limits, progress=progress)

    def watch(
        self,
        *sources: str | os.PathLike[str],
        limits: Limits = DEFAULT_LIMITS,
        stop: threading.Event | None = None,
    ) -> Iterator[Happening]:
        """Follow folders while they change, and tell of every change once it is stored (extra ``watch``).

        It begins with a sync, and goes on until ``stop`` is set or it is closed. A folder that vanishes keeps what is
        stored of it, and is looked through when it comes back.

        Raises
        ------
        MissingExtra
            If watchfiles is not installed.
        """
        roots = [Path(os.path.abspath(path)) for path in _paths(sources)]  # noqa: PTH100 - resolve() would follow links
        return watch.watch(
            self._database, roots, lambda plan: self.apply(plan, limits=limits), stop or threading.Event()
        )

    def add(self, documents: Iterable[Document], *, progress: Watcher | None = None) -> Report:
        """Store documents; one of a known id replaces that document, an unchanged one costs nothing.

        Raises
        ------
        InvalidDocument
            If one cannot be stored: nothing of its batch (at most 1,024 documents) is.
        """
        return build.add(self._writing_pipeline(), documents, progress)

    def put(self, documents: Iterable[Document], *, progress: Watcher | None = None) -> Report:
        """Store passages beside those that their documents hold, as frameworks hand them over.

        A passage whose id the file knows takes that chunk's place, in whichever document it stands; a document's other
        chunks stay. Title, uri and metadata are laid over what is stored. Where all passages of a new file bring their
        vectors, the file is one of given vectors: see :class:`monograph.derive.embed.GivenVectors`.

        Raises
        ------
        InvalidDocument
            If a document has no passages, is part of a synced file, or cannot be stored: nothing of its batch (at most
            1,024 documents) is.
        """
        listed = list(documents)
        if self._embedder is None:
            self._embedder = configuration.outside_embedder(self._database, listed)
        return single.put(self._writing_pipeline(), listed, progress)

    def remove_chunks(self, ids: Iterable[str] | None = None, *, where: Mapping[str, Any] | None = None) -> Report:
        """Take single chunks out of every result; a document goes with the last of its chunks.

        Parameters
        ----------
        ids:
            Of chunks; those that the file does not hold are passed over.
        where:
            Only chunks whose metadata meet this filter: see :mod:`monograph.where`.

        Raises
        ------
        InputError
            If neither is given.
        InvalidDocument
            If a chunk is part of a synced file of which other chunks are to stay.
        """
        if ids is None and not where:
            raise InputError("neither ids nor a filter says which chunks", "name them; to clear the file, remove all")
        allowed = compile_condition(filters.parse(where))
        named = None if ids is None else [str(name) for name in ids]
        if configuration.EMBEDDER.known(self._database) is None:
            return Report()  # It holds nothing yet, and what its vectors come from is still open.
        return single.remove(self._writing_pipeline(), named, allowed)

    def remove(self, ids: Iterable[str], *, forget: bool = False) -> Report:
        """Take documents out of every result, all of them or, on an error, none.

        A document whose file is still in a synced folder comes back with the next sync.

        Parameters
        ----------
        ids:
            Ids or uris of documents.
        forget:
            Return only when no trace of their text is left in the bytes of the file and its write-ahead log.

        Raises
        ------
        NotFound
            If an id fits no document.
        BusyFile
            If ``forget`` is asked and another process still reads an older state.
        """
        report = removal.remove(self._database, self._indexes, [str(name) for name in ids], forget=forget)
        return self._followed(report)

    def compact(self) -> None:
        """Drop remembered values that nothing uses, merge the index and give free space back to the disk."""
        removal.erase(self._database, self._indexes)

    def search(  # noqa: PLR0913 - each is a choice of its own
        self,
        query: str,
        k: int = 5,
        *,
        mode: Mode = "auto",
        where: Mapping[str, Any] | None = None,
        faithful: bool = False,
        detail: float | None = None,
        budget: int | None = None,
        vector: Sequence[float] | Float32 | None = None,
        alpha: float | None = None,
    ) -> list[Hit]:
        """Find chunks, and in the mode ``tree`` summaries.

        Parameters
        ----------
        query:
            A question, words, a code; a part in quotation marks must stand word for word to be lifted above all else.
        k:
            Most hits to return.
        mode:
            ``lexical`` (BM25), ``tfidf`` (RAGdb's hybrid score), ``dense`` (cosine), ``hybrid`` (BM25 and dense,
            fused), ``graph`` (from these, hop by hop, to what is named together), ``tree`` (by cosine
            among chunks and summaries), ``auto`` (``graph``, or ``hybrid`` where the file has no graph yet).
        where:
            Only chunks whose metadata meet this filter: see :mod:`monograph.where`.
        faithful:
            With ``graph``, or ``auto`` where it means that: search by MiniRAG's own formulas, which keep of the dense
            search's chunks those that the best paths through the graph lead to. The model, if the file was opened with
            one, is asked once of which types the answer may be.
        detail:
            With ``tree``: the share of chunks among the hits, from 0 (summaries alone) to 1. By default what is nearest
            comes, whatever it is.
        budget:
            With ``tree``: most tokens of all hits together; one that would go over is passed over.
        vector:
            The query's vector, of the file's dimension, where the caller has it: it is then not made here.
        alpha:
            With ``hybrid``: what meaning counts beside words, from 0 (words alone) to 1 (vectors alone).

        Returns
        -------
        At most k hits, best first.

        Raises
        ------
        InputError
            If a number is out of range, the mode unknown, ``faithful`` asked of a mode that has no formulas of MiniRAG,
            ``detail`` or ``budget`` of another than ``tree``, ``alpha`` of another than ``hybrid``, the file has no
            tree, or the vector is of another dimension than the file's.
        InvalidFilter
            If the filter cannot be understood.
        ModelError
            If the mode needs the query's vector, and the file's embedder cannot be made here or is another by now.
        """
        if k < 0:
            raise InputError(f"k is {k}", "give 0 or more")
        if mode not in retrieval.MODES:
            raise InputError(f"unknown mode {mode!r}", f"modes are {', '.join(retrieval.MODES)}")
        allowed = compile_condition(filters.parse(where))
        portion = retrieval.portion(k, mode, detail, budget)
        mode = retrieval.balanced(mode, alpha)
        given = retrieval.given_vector(vector)
        types = self._answer_types(query, mode) if faithful and k else ()
        with self._database.read() as connection:
            chosen = configuration.chosen_mode(connection, mode)
            if faithful:
                retrieval.check_faithful(chosen)
            request = retrieval.Request(query, k, chosen, given, allowed, alpha=alpha, types=types)
            if retrieval.needs_vector(chosen) and (given is None or chosen == "graph"):
                # Another process may have given the file another embedder since it was opened.
                configuration.EMBEDDER.check(self._database, self.embedder)
                request = retrieval.prepare(connection, self.embedder, request)
            if portion is not None:
                return retrieval.search_tree(connection, tree.Indexes(*self._indexes), request, portion)
            if faithful:
                return retrieval.search_faithfully(connection, self._index, self._nearest_names(), request)
            return retrieval.search(connection, self._index, request)

    def _answer_types(self, query: str, mode: Mode) -> tuple[str, ...]:
        """What the model says; it is asked before the search reads, for its answer is written, and not in vain."""
        if self._model is None:
            return ()
        with self._database.read() as connection:
            retrieval.check_faithful(configuration.chosen_mode(connection, mode))
        return answer_types(self._model, Memory(self._database), query)

    def _nearest_names(self) -> NearestNames:
        if self._nearest is None or self._nearest.embedder is not self.embedder:
            self._nearest = NearestNames(self.embedder)
        return self._nearest

    def reduce(
        self, query: str, hits: Sequence[Hit], *, cut: float = CUT, windows: Windows | None = None
    ) -> list[Reduced]:
        """Cut hits down to what a question needs: spans of their documents, word for word.

        Parameters
        ----------
        query:
            What was searched for.
        hits:
            What was found.
        cut:
            About which share of their tokens is to go; see :func:`monograph.answer.reduce.reduce`.
        windows:
            Cut by MobileRAG's own way instead, to the window of sentences that the file's embedder has nearest to the
            question (its numbers are :data:`monograph.answer.windows.PAPER`); ``cut`` does not count then.

        Returns
        -------
        One a hit, in the order of their best sentences or windows.

        Raises
        ------
        InputError
            If ``cut`` is not in [0, 1].
        """
        if windows is not None:
            return reduce_to_windows(self.embedder, query, hits, windows)
        with self._database.read() as connection:
            return reduce(asked.take_apart(connection, query), hits, cut)

    def context(  # noqa: PLR0913 - each is a choice of its own
        self,
        query: str,
        budget: int = BUDGET,
        *,
        k: int = FOUND,
        mode: Mode = "auto",
        where: Mapping[str, Any] | None = None,
        cut: float = CUT,
        order: Order = "relevance",
        count: Counter = count_tokens,
    ) -> Context:
        """Find, reduce and pack: what a model needs to answer a question, with where each word of it stands.

        Parameters
        ----------
        query:
            A question.
        budget:
            Most tokens of the context's text, at least 1. The rules and the question around it take about a hundred.
        k, mode, where:
            As for :meth:`search`.
        cut:
            About which share of the tokens found is to go even where the budget has room; 0 to fill it.
        order:
            ``relevance``, or ``edges``: the best first and last.
        count:
            How the model's tokens are counted; by default with Llama 2's tokenizer.

        Raises
        ------
        InputError
            If a number is out of range.
        InvalidFilter, ModelError
            As for :meth:`search`.
        """
        packing = Packing(budget, cut, order, count)
        return self._pack(query, self.search(query, k, mode=mode, where=where), packing)

    def _pack(self, query: str, hits: Sequence[Hit], packing: Packing) -> Context:
        with self._database.read() as connection:
            question = asked.take_apart(connection, query)
            names = ahead.candidates(connection, question, hits)
        made = pack(question, hits, packing, ahead.relations(hits), names)
        return replace(made, relevance=abstain.relevance(question, hits))

    def ask(  # noqa: PLR0913 - each is a choice of its own
        self,
        question: str,
        budget: int = BUDGET,
        *,
        history: Sequence[Turn] = (),
        k: int = FOUND,
        mode: Mode = "auto",
        where: Mapping[str, Any] | None = None,
        max_tokens: int = asking.MAX_TOKENS,
        remember: bool = True,
    ) -> Answer:
        """Answer a question from the file, with the model it was opened with.

        Parameters
        ----------
        question, budget, history, k, mode, where, max_tokens, remember:
            As for :meth:`stream`, which says more.

        Raises
        ------
        ModelUnavailable
            If the model does not answer, or breaks off: half an answer is none.
        InputError, InvalidFilter, ModelError
            As for :meth:`search` and :meth:`context`.
        """
        *_, answer = self.stream(
            question,
            budget,
            history=history,
            k=k,
            mode=mode,
            where=where,
            max_tokens=max_tokens,
            remember=remember,
        )
        assert isinstance(answer, Answer)  # noqa: S101 - the last thing a stream gives
        return answer

    def stream(  # noqa: PLR0913 - each is a choice of its own
        self,
        question: str,
        budget: int = BUDGET,
        *,
        history: Sequence[Turn] = (),
        k: int = FOUND,
        mode: Mode = "auto",
        where: Mapping[str, Any] | None = None,
        max_tokens: int = asking.MAX_TOKENS,
        remember: bool = True,
    ) -> Iterator[str | Answer]:
        """Answer a question piece by piece, and at the end give the whole :class:`Answer`.

        The file is searched, what is found is reduced and packed, and the model is asked to answer from that alone.
        What it cites is held against the context. Where nothing relevant is found it is not asked. Without a model
        the answer is the passages themselves, or that the file does not tell.

        Parameters
        ----------
        question:
            In any words.
        budget:
            Most tokens of the context.
        history:
            Turns before it: a question that hangs on them is put anew by the model, or without one gets the names they
            were about.
        k, mode, where:
            As for :meth:`search`.
        max_tokens:
            Most tokens of the answer.
        remember:
            Keep the model's answer in the file under its question, context and model, and use it when these come again.
            ``compact`` and ``forget`` drop it.
        """
        begun = time.perf_counter()
        query = follow_up.alone(self._model, question, history) if history else question
        hits = self.search(query, k, mode=mode, where=where)
        found = time.perf_counter()
        context = self._pack(query, hits, Packing(budget))
        spent = Seconds(retrieval=found - begun, reduction=time.perf_counter() - found)
        memory = Memory(self._database) if remember else None
        for piece in asking.stream(self._model, context, memory, max_tokens):
            yield (
                replace(piece, query=query, seconds=asking.after(spent, piece.seconds))
                if isinstance(piece, Answer)
                else piece
            )

    def document(self, name: str) -> Document:
        """A stored document by id or uri, with its text.

        Raises
        ------
        NotFound
            If there is none, or several came from that uri.
        """
        with self._database.read() as connection:
            return documents.load(connection, _only(connection, self.path, name))

    def documents(self) -> list[Document]:
        """All stored documents without their texts, in order of uri, then id."""
        with self._database.read() as connection:
            rows = list(documents.every(connection))
        listed = [Document(id=row.id, title=row.title, uri=row.uri) for row in rows]
        return sorted(listed, key=lambda document: (document.uri, document.id))

    def chunks(self, name: str) -> list[Chunk]:
        """The chunks of a document, by its id or uri, in reading order.

        Raises
        ------
        NotFound
            As for :meth:`document`.
        """
        with self._database.read() as connection:
            row = _only(connection, self.path, name)
            return [found.chunk for found in chunks.of_document(connection, row.row)]

    def find_chunk(self, chunk_id: str) -> Chunk | None:
        """A stored chunk by id, or None."""
        with self._database.read() as connection:
            found = chunks.find(connection, chunk_id)
        return None if found is None else found.chunk

    def fetch(
        self, ids: Sequence[str] | None = None, *, where: Mapping[str, Any] | None = None, vectors: bool = False
    ) -> list[Stored]:
        """Stored chunks by id, or all that meet a filter.

        Parameters
        ----------
        ids:
            Of chunks: those that are there come in this order. Without them, in reading order, document by document.
        where:
            Only chunks whose metadata meet this filter: see :mod:`monograph.where`.
        vectors:
            Whether their vectors come with them.
        """
        allowed = compile_condition(filters.parse(where))
        stored = configuration.EMBEDDER.known(self._database) if vectors else None
        with self._database.read() as connection:
            return lookup.fetch(connection, ids, allowed, None if stored is None else stored.dimension)

    def entities(self, k: int = 50, like: str = "") -> list[Entity]:
        """The named things of the file, those that most chunks name first, at most k.

        Parameters
        ----------
        k:
            Most of them.
        like:
            Only those with a name that contains this, whatever its case and accents.

        Raises
        ------
        InputError
            If k is negative.
        """
        with self._database.read() as connection:
            return entities.most_named(connection, k, like)

    def neighbourhood(self, name: str, hops: int = 1, most: int = 60) -> Neighbourhood:
        """The part of the graph around an entity: see :func:`monograph.retrieve.neighbourhood.neighbourhood`.

        Parameters
        ----------
        name:
            What a text calls it, or a part that no other name has. A name of several things, ``Green``, means all of
            them, ``Green (album)`` one.
        hops:
            How far from it.
        most:
            Most entities around it, and most chunks.

        Raises
        ------
        NotFound
            If no name fits, or several do; the mend names some.
        InputError
            If ``hops`` is negative, or ``most`` below 1.
        """
        with self._database.read() as connection:
            return neighbourhood.neighbourhood(connection, entities.find(connection, name), hops, most)

    def routes(self, name: str, other: str, hops: int = 4, most: int = 3) -> list[Route]:
        """Ways from one entity to another, over entities that chunks name together.

        Each end is looked around for half of the way, at most EXPORTED entities far: in a large file a way between two
        that are named very often may be missed.

        Parameters
        ----------
        name, other:
            As for :meth:`neighbourhood`.
        hops:
            Most links of a way, at least 1.
        most:
            Most ways.

        Returns
        -------
        Ways of fewest links; of these, those whose lightest link is heaviest come first. None where nothing joins the
        two, or they are one.

        Raises
        ------
        NotFound
            As for :meth:`neighbourhood`.
        InputError
            If a number is out of range.
        """
        if hops < 1 or most < 1:
            raise InputError(f"hops is {hops} and most is {most}", "give at least 1")
        there = self.neighbourhood(name, (hops + 1) // 2, EXPORTED)
        back = self.neighbourhood(other, hops // 2, EXPORTED)
        return find_routes((there, back), set(there.centre), set(back.centre), hops, most)

    def merges(self, name: str = "") -> list[Merge]:
        """Which names were taken to mean one entity, and why: see :func:`monograph.retrieve.merges.merges`.

        Parameters
        ----------
        name:
            Of an entity, as for :meth:`neighbourhood`: only its merges, and with them those that hold in single
            documents.

        Raises
        ------
        NotFound
            As for :meth:`neighbourhood`.
        """
        with self._database.read() as connection:
            heads = list(dict.fromkeys(one.head for one in entities.find(connection, name))) if name else None
            return merging.merges(connection, heads)

    def outline(self, node: str = "", layers: int = 2) -> list[Branch]:
        """The tree of summaries as a table of contents.

        Parameters
        ----------
        node:
            Id of a summary, or its first four digits or more; empty for the top of the tree.
        layers:
            How many layers are opened below it.

        Returns
        -------
        The summary, or what stands at the top of the tree: one summary of all, as a rule.

        Raises
        ------
        NotFound
            If no summary has that id, or several begin so.
        InputError
            If the file has no tree, or ``layers`` is negative.
        """
        if layers < 0:
            raise InputError(f"layers is {layers}", "give 0 or more")
        with self._database.read() as connection:
            retrieval.need_tree(connection)
            return outline.outline(connection, node, layers)

    def set_apart(self, name: str, other: str) -> None:
        """Say that two names are not one entity. This is kept, and they never become one again.

        Raises
        ------
        InputError
            If they are one but for case, accents, signs or an article.
        NotFound
            If nothing in the file has one of them.
        """
        apart.set_apart(self._writing_pipeline(), name, other)

    def unite(self, name: str, other: str) -> None:
        """Take back :meth:`set_apart`: the graph is as if it had never been said.

        Raises
        ------
        NotFound
            If they were not set apart.
        """
        apart.unite(self._writing_pipeline(), name, other)

    def to_networkx(self, name: str = "", hops: int = 2) -> networkx.Graph:
        """The graph around an entity, or without a name the whole graph, as networkx has graphs (extra ``graph``).

        Nodes and edges are those of :func:`monograph.graph.export.to_networkx`. Around an entity at most EXPORTED
        others are in it. The whole graph takes about 15 KB of memory and 2 ms a chunk; a file of millions of chunks is
        better looked at in parts.

        Raises
        ------
        NotFound
            As for :meth:`neighbourhood`.
        MissingExtra
            If networkx is not installed.
        """
        return export.to_networkx(self._exported(name, hops))

    def to_graphml(self, path: str | os.PathLike[str], name: str = "", hops: int = 2) -> None:
        """Write what :meth:`to_networkx` gives as a GraphML file, for Gephi, Cytoscape, yEd and the like.

        Raises
        ------
        NotFound, MissingExtra
            As for :meth:`to_networkx`.
        InputError
            If the file cannot be written.
        """
        export.to_graphml(self._exported(name, hops), Path(path))

    def _exported(self, name: str, hops: int) -> Neighbourhood:
        if name:
            return self.neighbourhood(name, hops, EXPORTED)
        with self._database.read() as connection:
            return neighbourhood.whole(connection)

    def stats(self) -> Stats:
        """Count and weigh what the file holds."""
        with self._database.read() as connection:
            counts = stats.counts(connection)
            sizes = stats.sizes(connection)
            index = self._index.stats(connection)
            tree_stats = measure(connection)
        summarizer = configuration.SUMMARIZER.known(self._database)
        embedder = configuration.EMBEDDER.known(self._database)
        extractor = configuration.EXTRACTOR.known(self._database)
        return Stats(
            path=str(self.path),
            format=counts.format,
            documents=counts.documents,
            sources=counts.sources,
            chunks=counts.chunks,
            vectors=counts.vectors,
            memo=counts.memo,
            memo_unused=counts.memo_unused,
            terms=counts.terms,
            entities=counts.entities,
            merged=counts.merged,
            mentions=counts.mentions,
            characters=counts.characters,
            file_bytes=counts.file_bytes,
            tables=sizes,
            embedder="" if embedder is None else embedder.key,
            embedder_spec="" if embedder is None else embedder.spec,
            extractor="" if extractor is None else extractor.key,
            extractor_spec="" if extractor is None else extractor.spec,
            dimension=0 if embedder is None else embedder.dimension,
            chunk_tokens=self._settings.chunk_tokens,
            chunk_overlap=self._settings.chunk_overlap,
            index=index,
            summarizer="" if summarizer is None else summarizer.key,
            summarizer_spec="" if summarizer is None else summarizer.spec,
            tree=tree_stats,
        )

    def check(self, *, repair: bool = False) -> list[Finding]:
        """Hold every table against every other.

        Parameters
        ----------
        repair:
            Mend what can be mended, and check again.

        Returns
        -------
        The faults that are there (after the repair, when one was asked for); empty when all is well.
        """
        if repair:
            configuration.adopt_embedder(self._database, self.embedder)
            configuration.EXTRACTOR.check(self._database, self.extractor)
            revector.repair(self._pipeline(), whole_tree=not self._tree_faults())
        stored = configuration.EMBEDDER.known(self._database)
        with self._database.read() as connection:
            found = list(check.findings(connection, None if stored is None else stored.dimension))
            found += [
                Finding("clusters", fault, repairable=True)
                for index in self._indexes
                for fault in verify.faults(connection, index.space)
            ]
        found += [Finding("nodes", fault, repairable=True) for fault in self._tree_faults()]
        if not self._database.read_only:
            with self._database.write() as connection:
                fault = check.index_fault(connection)
            found.extend([] if fault is None else [fault])
        return found

    def _tree_faults(self) -> list[str]:
        stored = configuration.SUMMARIZER.known(self._database)
        recipe = None if stored is None else grow.recipe(stored.key, self._settings)
        with self._database.read() as connection:
            return list(verify_tree.faults(connection, recipe))

    def reembed(self, embedder: Embedder, *, progress: Watcher | None = None) -> Report:
        """Make every vector anew with another embedder. Until the end the file answers with the old one.

        Raises
        ------
        ModelError
            If the embedder fails: the file is as it was, and what was made is remembered.
        """
        made = revector.reembed(replace(self._pipeline(), embedder=embedder), progress)
        self._embedder = embedder
        return Report(embedded=made.embedded, remembered=made.remembered)

    def reextract(self, extractor: Extractor | None = None, *, progress: Watcher | None = None) -> Report:
        """Make the graph anew with another extractor; without one, ask again for the chunks that a model failed on.

        What the new extractor found in a chunk before is remembered, and costs nothing.
        """
        configuration.adopt_embedder(self._database, self.embedder)
        chosen = extractor or self.extractor
        made = regraph.reextract(replace(self._pipeline(), extractor=chosen), progress)
        self._extractor = chosen
        return Report(extracted=made.extracted, fell_back=made.fell_back)

    @property
    def _indexes(self) -> tuple[EcoVectorIndex, EcoVectorIndex]:
        return self._index, self._summaries

    def resummarize(self, summarizer: Summarizer | None = None, *, progress: Watcher | None = None) -> Report:
        """Make the tree of summaries, or make it anew with another summarizer; without one, with the file's own.

        Until the end the file answers with the tree it has. What was made of the same texts before is remembered.

        Raises
        ------
        ModelError
            If a summary cannot be made: the tree is as it was, and what was made is remembered.
        """
        configuration.adopt_embedder(self._database, self.embedder)
        chosen = summarizer or self.summarizer
        made = grow.resummarize(self._pipeline(chosen), progress)
        self._summarizer = chosen
        return Report(summarized=made.made)

    def price_summaries(self, summarizer: Summarizer | None = None) -> Cost:
        """What :meth:`resummarize` would take: its summaries and, at most, what they ask of a language model."""
        pipeline = self._pipeline(summarizer or self.summarizer)
        with self._database.read() as connection:
            return foresee.price_anew(connection, pipeline)

    def _pipeline(self, summarizer: Summarizer | None = None) -> Pipeline:
        # One that was given makes a tree with the next write: a plan is to say what that takes.
        if summarizer is None and (self._summarizer or configuration.SUMMARIZER.known(self._database)):
            summarizer = self.summarizer
        index, summaries = self._indexes
        return Pipeline(self._database, index, summaries, self.embedder, self.extractor, summarizer, self._settings)

    def _writing_pipeline(self, progress: Watcher | None = None) -> Pipeline:
        """A pipeline whose embedder and extractor the file knows, and whose graph lacks nothing."""
        configuration.adopt_embedder(self._database, self.embedder)
        if self._summarizer is not None:
            configuration.adopt_summarizer(self._database, self._summarizer)
        pipeline = self._pipeline()
        configuration.EXTRACTOR.check(self._database, self.extractor)
        regraph.catch_up(pipeline, progress)
        return pipeline

    def _followed(self, report: Report) -> Report:
        """A report of a change that the tree has followed, where the file has one and that could be done."""
        if configuration.SUMMARIZER.known(self._database) is None:
            return report
        made, problems = grow.keep_up(self._pipeline())
        return replace(report, summarized=made, problems=(*report.problems, *problems))


def _paths(sources: Sequence[str | os.PathLike[str]]) -> list[Path]:
    if not sources:
        raise InputError("no file or folder was given", "name at least one")
    return [Path(source) for source in sources]


def _only(connection: Connection, path: Path, name: str) -> documents.Row:
    found, _ = documents.resolve(connection, [name])
    if not found:
        raise NotFound(f"{path} holds no document {name!r}", f"monograph show {path}")
    if len(found) > 1:
        raise NotFound(
            f"{name!r} holds {len(found)} documents", f"name one of {', '.join(row.id for row in found[:3])} …"
        )
    return found[0]
