"""Bringing the tree of summaries up to date: what is missing is made and remembered, then the tree is exchanged."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from time import monotonic

from monograph import telemetry
from monograph.derive.summarize import workers_of
from monograph.errors import BusyFile, ModelError, ModelUnavailable, MonographError
from monograph.models import Summarizer
from monograph.settings import Settings
from monograph.store.file import memo, settings
from monograph.store.file.database import Connection, Database, decoding
from monograph.store.tree import tree
from monograph.store.tree import tree as store
from monograph.store.vectors import vectors
from monograph.tree import build
from monograph.tree.hash import LEARNED_AT, Planes, learn, random_planes
from monograph.tree.leaves import planes_of
from monograph.tree.segment import Bounds
from monograph.values import Document, Float32, OnProgress, Problem, Progress, SummaryText, content_hash
from monograph.write.configuration import EMBEDDER, SUMMARIZER
from monograph.write.pipeline import Pipeline, telling_refusals
from monograph.write.prepare import Prepared, Vectored
from monograph.write.transaction import write
from monograph.write.turn import turn
from monograph.write.vectors import remember_vectors

SUMMARIZED_AT_ONCE = 2_048
"""Segments whose summaries are asked for before their vectors are made."""
REMEMBERED_AT_ONCE = 64
PATIENCE = 0.5
"""Summaries are written together, so many, or those of so many seconds: what a crash can cost."""
LEARNING_SAMPLE = 16_384

_TRIES = 5
TRIES_OVERTAKEN = 20
"""Other writers overtake who grows the tree, each about once: then they wait for their turn."""
MADE_OVERTAKEN = 256
"""Summaries made in tries after the first, until a tree that others change faster than it can follow is left as it is.
"""


@dataclass(frozen=True, slots=True)
class TreeUpdate:
    """Summaries that the summarizer was asked for, and tokens that a model read and wrote for them."""

    made: int = 0
    tokens: int = 0


def recipe(summarizer: str, chosen: Settings) -> build.Recipe:
    """What a file's tree is a function of, by the summarizer's key."""
    bounds = Bounds(chosen.segment_least, chosen.segment_most)
    return build.Recipe(summarizer, chosen.summary_tokens, bounds, chosen.summary_layers)


@telling_refusals
def update(
    pipeline: Pipeline, on_progress: OnProgress | None = None, *, anew: bool = False, afresh: bool = False
) -> TreeUpdate:
    """Make the tree what its chunks imply; nothing to do in a file without one, or where no chunk came or went.

    With ``anew`` every summary is made with the pipeline's summarizer, which becomes the file's own. With ``afresh``
    nothing of the tree that is there counts but its planes.

    Each summary is remembered as it comes. Killed, or failed, the tree is as it was, and the next time only what is
    missing is made. Of several writers one grows the tree, for all that is stored by then, and the others wait for it.

    Raises
    ------
    ModelError
        If a summary cannot be made.
    BusyFile
        If other processes keep changing the file, or one of them is at work on its tree for too long.
    """
    wanted = anew or afresh
    if pipeline.summarizer is None or not (wanted or _waiting(pipeline)):
        return TreeUpdate()
    spent = Spent()
    with turn(pipeline.database.path):
        first: int | None = None
        for left in reversed(range(TRIES_OVERTAKEN)):
            if not (wanted or _waiting(pipeline)):
                break  # Who had the turn before has made it all.
            try:
                # Draft the tree and store it. Raises Overtaken if other writers changed it meanwhile.
                draft, planes = _begun(pipeline, anew=anew, afresh=afresh)
                draw_up(pipeline, draft, planes, spent, on_progress)
                with write(pipeline.database, pipeline.indexes) as connection:
                    _see_same_models(pipeline, anew=anew)
                    keep(connection, pipeline.summarizer, draft, spent)
                break
            except build.Overtaken:
                first = spent.made if first is None else first
                if not left or spent.made - first > MADE_OVERTAKEN:
                    raise
    return TreeUpdate(spent.made, spent.tokens)


@dataclass(slots=True)
class Spent:
    """A :class:`TreeUpdate` that is still growing."""

    made: int = 0
    tokens: int = 0


def keep(connection: Connection, summarizer: Summarizer, draft: build.Draft, spent: Spent) -> None:
    """Store a draft, and what it took. Raises Overtaken if other writers changed what it counts on."""
    build.store_draft(connection, draft)
    settings.save_model(connection, settings.StoredSummarizer(summarizer.key, summarizer.spec))
    settings.count_summaries(connection, spent.made, spent.tokens)


def draw_up(
    pipeline: Pipeline, draft: build.Draft, planes: Planes, spent: Spent, on_progress: OnProgress | None = None
) -> None:
    """Draft all layers, and make and remember what they lack."""
    key = "" if pipeline.summarizer is None else pipeline.summarizer.key
    while True:
        with pipeline.database.read() as connection:
            cuts = build.cut(connection, recipe(key, pipeline.settings), draft)
        if cuts is None:
            return
        made: list[build.Made] = []
        for first in range(0, len(cuts), SUMMARIZED_AT_ONCE):
            some = cuts[first : first + SUMMARIZED_AT_ONCE]
            with pipeline.database.read() as connection:
                texts = build.texts(connection, draft, some)
            told = _Layer(draft.layer + 1, first, len(cuts), on_progress)
            made += _made(pipeline, some, texts, spent, told)
        with pipeline.database.read() as connection:
            build.add_layer(connection, draft, planes, made)


@telemetry.traced("monograph.tree")
def follow(pipeline: Pipeline, on_progress: OnProgress | None = None) -> tuple[int, tuple[Problem, ...]]:
    """Update what is stored already; if that fails the tree is as it was: how many were made, what went wrong."""
    try:
        return update(pipeline, on_progress).made, ()
    except MonographError as error:
        return 0, (lagging(pipeline.database, error),)


def lagging(database: Database, error: MonographError) -> Problem:
    """What is said where a change is stored, and the tree could not follow."""
    path = str(database.path)
    reason = f"the tree of summaries is as it was, and lacks what changed: {error.message}"
    if isinstance(error, BusyFile):
        return Problem(path, reason, "what is stored is whole; the tree follows with the next write")
    return Problem(path, reason, error.mend or f"monograph resummarize {path}")


def _waiting(pipeline: Pipeline) -> bool:
    with pipeline.database.read() as connection:
        whole = (
            store.exists(connection)
            and not store.count_stale_segments(connection)
            and not store.stale_leaves(connection)
        )
        return not whole


def _see_same_models(pipeline: Pipeline, *, anew: bool) -> None:
    """Raise ModelMismatch where another process has given the file another embedder or summarizer meanwhile."""
    EMBEDDER.check(pipeline.database, pipeline.embedder)
    if pipeline.summarizer is not None and not anew:
        SUMMARIZER.check(pipeline.database, pipeline.summarizer)


def _begun(pipeline: Pipeline, *, anew: bool, afresh: bool) -> tuple[build.Draft, Planes]:
    """A draft of the tree, and its planes: those of the file, or others if it is time to learn them."""
    with pipeline.database.read() as connection:
        if not store.stale_leaves(connection):
            return _drafted(connection, pipeline, anew=anew, afresh=afresh)
    with write(pipeline.database, pipeline.indexes):
        pass  # A writer left it to the end of the next transaction to update the leaves.
    with pipeline.database.read() as connection:
        return _drafted(connection, pipeline, anew=anew, afresh=afresh)


def _drafted(connection: Connection, pipeline: Pipeline, *, anew: bool, afresh: bool) -> tuple[build.Draft, Planes]:
    _see_same_models(pipeline, anew=anew)
    held, count = planes_of(connection), vectors.count(connection)
    draft = build.Draft(store.version(connection), anew=anew)
    if held is not None and not due_planes(held, count, pipeline):
        if not afresh:
            return draft, held
        planes = held
    else:
        found = vectors.first_by_id(connection, LEARNING_SAMPLE, pipeline.embedder.dimension)
        planes = random_or_learned(pipeline, found, count)
    build.lay_all_leaves(connection, draft, planes, store.every_leaf(connection))
    return draft, planes


def random_or_learned(pipeline: Pipeline, sample: Float32, count: int) -> Planes:
    """The planes for a file of so many chunks, of which some are a sample."""
    if pipeline.settings.planes == "random" or count < LEARNED_AT[0]:
        return random_planes(pipeline.embedder.dimension)
    return replace(learn(sample), learned_from=count)


def due_planes(held: Planes | None, count: int, pipeline: Pipeline) -> bool:
    """Whether a file of so many chunks is to have other planes than it has."""
    if held is None or held.dimension != pipeline.embedder.dimension:
        return True
    due = max((least for least in LEARNED_AT if least <= count), default=0)
    return pipeline.settings.planes == "learned" and held.learned_from < due


@dataclass(frozen=True, slots=True)
class _Layer:
    """How far the summaries of a layer have come."""

    layer: int
    before: int
    total: int
    on_progress: OnProgress | None

    def tell(self, done: int) -> None:
        if self.on_progress is not None:
            self.on_progress(Progress(f"summaries, layer {self.layer}", self.before + done, self.total, "summaries"))


def _text(connection: Connection, row: int, value: bytes) -> str:
    with decoding(connection, f"row {row} of memo, a summary,"):
        return tree.unpack(value).text


def _made(
    pipeline: Pipeline, cuts: Sequence[build.Cut], sources: Sequence[tuple[str, ...]], spent: Spent, told: _Layer
) -> list[build.Made]:
    """The summaries of segments of some texts and their vectors, made where the memo lacks them."""
    keys = [summary_key(pipeline, some) for some in sources]
    for _ in range(_TRIES):
        _remember_summaries(pipeline, dict(zip(keys, sources, strict=True)), spent, told)
        with pipeline.database.read() as connection:
            rows = memo.rows(connection, memo.SUMMARY, keys)
            values = memo.values(connection, rows.values())
            texts = {key: _text(connection, row, values[row]) for key, row in rows.items()}
        embedded = {key: content_hash("embed", pipeline.embedder.key, text) for key, text in texts.items()}
        wanted = tuple(Vectored(embedded[key], text, None) for key, text in texts.items())
        remember_vectors(pipeline, [Prepared(Document(id="summaries"), b"", (), wanted)])
        with pipeline.database.read() as connection:
            held = memo.rows(connection, memo.VECTOR, list(embedded.values()))
        if len(rows) == len(set(keys)) and len(held) == len(set(embedded.values())):
            return [
                build.Made(
                    one,
                    texts[key],
                    build.Remembered(rows[key], key),
                    build.Remembered(held[embedded[key]], embedded[key]),
                )
                for one, key in zip(cuts, keys, strict=True)
            ]
    raise BusyFile(f"another process keeps emptying the memo of {pipeline.database.path}", "try again when it is done")


def summary_key(pipeline: Pipeline, texts: Sequence[str]) -> bytes:
    """The memo key of a summary of these texts."""
    key = "" if pipeline.summarizer is None else pipeline.summarizer.key
    return build.summary_key(key, pipeline.settings.summary_tokens, texts)


def _remember_summaries(pipeline: Pipeline, wanted: dict[bytes, tuple[str, ...]], spent: Spent, told: _Layer) -> None:
    """Ask for the summaries that the memo lacks, and remember them as they come."""
    with pipeline.database.read() as connection:
        held = memo.rows(connection, memo.SUMMARY, list(wanted))
    lacking = [(key, texts) for key, texts in wanted.items() if key not in held]
    done = len(held)
    for group in _groups(_summaries(pipeline, lacking)):
        with pipeline.database.write() as connection:
            memo.put(
                connection,
                memo.SUMMARY,
                ((key, tree.pack(summary), summary.tokens_in + summary.tokens_out) for key, summary in group),
            )
        spent.made += len(group)
        spent.tokens += sum(summary.tokens_in + summary.tokens_out for _, summary in group)
        done += len(group)
        told.tell(done)


def _groups(found: Iterable[tuple[bytes, SummaryText]]) -> Iterator[list[tuple[bytes, SummaryText]]]:
    """Summaries as they come, as many together as come in time; what came before an error is given before it."""
    group: list[tuple[bytes, SummaryText]] = []
    since = monotonic()
    error: ModelError | None = None
    waiting = iter(found)
    while error is None:
        try:
            one = next(waiting, None)
        except ModelError as raised:
            one, error = None, raised
        if one is not None:
            group.append(one)
        if group and (one is None or len(group) >= REMEMBERED_AT_ONCE or monotonic() - since > PATIENCE):
            yield group
            group, since = [], monotonic()
        if one is None:
            break
    if error is not None:
        raise error


def _summaries(
    pipeline: Pipeline, work: Sequence[tuple[bytes, tuple[str, ...]]]
) -> Iterator[tuple[bytes, SummaryText]]:
    """Summaries in order, several asked for at once. At the first failure no more are begun; those begun come yet."""
    summarizer, most = pipeline.summarizer, pipeline.settings.summary_tokens
    if summarizer is None:
        return
    count = workers_of(summarizer)
    if count == 1:
        yield from ((key, _checked(summarizer, texts, most)) for key, texts in work)
        return
    begun: deque[Future[SummaryText]] = deque()
    error: ModelError | None = None
    pool = ThreadPoolExecutor(count, thread_name_prefix="summarize")
    try:
        for place, (key, _) in enumerate(work):
            if error is None:
                for _, texts in work[place + len(begun) : place + 2 * count]:
                    begun.append(pool.submit(copy_context().run, _checked, summarizer, texts, most))
            if not begun:
                break
            try:
                yield key, begun.popleft().result()
            except ModelError as raised:
                error = error or raised
    finally:
        pool.shutdown(cancel_futures=True)
    if error is not None:
        raise error


def _checked(summarizer: Summarizer, texts: Sequence[str], most: int) -> SummaryText:
    summary = summarizer.summarize(texts, most)
    if not summary.text.strip() and any(text.strip() for text in texts):
        raise ModelUnavailable(f"the summarizer {summarizer.key!r} gave an empty summary", "it must say something")
    return summary


def rebuild(pipeline: Pipeline, on_progress: OnProgress | None = None) -> TreeUpdate:
    """Make the tree anew with the pipeline's summarizer, which becomes the file's own.

    All summaries are made and remembered first, with the tree that is there standing. What was made of the same texts
    before is remembered.

    Raises
    ------
    ModelError, BusyFile
        As :func:`update`.
    """
    return update(pipeline, on_progress, anew=True)
