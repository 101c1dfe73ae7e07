"""Bringing the tree of summaries up to date: what is missing is made and remembered, then the tree is exchanged."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from time import monotonic

from monograph.derive.summarize import workers_of
from monograph.errors import BusyFile, ModelError, ModelUnavailable
from monograph.ingest.prepare import Pipeline, Prepared, Vectored, remember_vectors
from monograph.ingest.settle import write
from monograph.models import Float32, Summarizer
from monograph.settings import Settings
from monograph.store import gists, memo, settings, vectors
from monograph.store import tree as store
from monograph.store.database import Connection
from monograph.tree import build
from monograph.tree.hash import LEARNED_AT, Planes, learn, random_planes
from monograph.tree.segment import Bounds
from monograph.values import Document, Gist, Problem, Progress, Watcher, content_hash

SUMMARIZED_AT_ONCE = 2_048
"""Segments whose summaries are asked for before their vectors are made."""
REMEMBERED_AT_ONCE = 64
PATIENCE = 0.5
"""Summaries are written together, so many, or those of so many seconds: what a crash can cost."""
LEARNING_SAMPLE = 16_384

_TRIES = 5


@dataclass(frozen=True, slots=True)
class Grown:
    """Summaries that the summarizer was asked for, and tokens that a model read and wrote for them."""

    made: int = 0
    tokens: int = 0


def recipe(summarizer: str, chosen: Settings) -> build.Recipe:
    """What a file's tree is a function of, by the summarizer's key."""
    bounds = Bounds(chosen.segment_least, chosen.segment_most)
    return build.Recipe(summarizer, chosen.summary_tokens, bounds, chosen.summary_layers)


def grow(pipeline: Pipeline, watcher: Watcher | None = None, *, anew: bool = False) -> Grown:
    """Make the tree what its chunks imply; nothing to do in a file without one, or where no chunk came or went.

    With ``anew`` every summary is made with the pipeline's summarizer, which becomes the file's own.

    Each summary is remembered as it comes. Killed, or failed, the tree is as it was, and the next time only what is
    missing is made.

    Raises
    ------
    ModelError
        If a summary cannot be made.
    BusyFile
        If another process keeps changing the file.
    """
    summarizer = pipeline.summarizer
    if summarizer is None or not (anew or _waiting(pipeline)):
        return Grown()
    total = Grown()
    for _ in range(_TRIES):
        draft, planes = _begun(pipeline, anew=anew)
        while True:
            with pipeline.database.read() as connection:
                cuts = build.cut(connection, recipe(summarizer.key, pipeline.settings), draft)
            if cuts is None:
                break
            total = _stand(pipeline, draft, planes, cuts, total, watcher)
        with write(pipeline.database, pipeline.indexes) as connection:
            done = build.store_draft(connection, draft)
            if done:
                settings.save_model(connection, settings.StoredSummarizer(summarizer.key, summarizer.spec))
                settings.count_summaries(connection, total.made, total.tokens)
        if done:
            return total
    raise BusyFile(f"another process keeps changing {pipeline.database.path}", "try again when it is done")


def keep_up(pipeline: Pipeline, watcher: Watcher | None = None) -> tuple[int, tuple[Problem, ...]]:
    """Grow, where a summary that fails is a problem: how many were made, and what went wrong. The tree is as it was."""
    try:
        return grow(pipeline, watcher).made, ()
    except ModelError as error:
        path = str(pipeline.database.path)
        reason = f"the tree of summaries is as it was, and lacks what changed: {error.message}"
        return 0, (Problem(path, reason, error.mend or f"monograph resummarize {path}"),)


def _waiting(pipeline: Pipeline) -> bool:
    with pipeline.database.read() as connection:
        whole = store.exists(connection) and not store.count_uncut(connection) and not store.unplanted(connection)
        return not whole


def _begun(pipeline: Pipeline, *, anew: bool) -> tuple[build.Draft, Planes]:
    """A draft of the tree, and its planes: those of the file, or others if it is time to learn them."""
    with pipeline.database.read() as connection:
        if not store.unplanted(connection):
            return _drafted(connection, pipeline, anew=anew)
    with write(pipeline.database, pipeline.indexes):
        pass  # A writer left it to the end of the next transaction to plant chunks.
    with pipeline.database.read() as connection:
        return _drafted(connection, pipeline, anew=anew)


def _drafted(connection: Connection, pipeline: Pipeline, *, anew: bool) -> tuple[build.Draft, Planes]:
    held, count = build.planes_of(connection), vectors.count(connection)
    draft = build.Draft(store.version(connection), anew=anew)
    if held is not None and not due_planes(held, count, pipeline):
        return draft, held
    found = vectors.first_by_id(connection, LEARNING_SAMPLE, pipeline.embedder.dimension)
    planes = random_or_learned(pipeline, found, count)
    build.lay_all(connection, draft, planes)
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


def _stand(
    pipeline: Pipeline,
    draft: build.Draft,
    planes: Planes,
    cuts: Sequence[build.Cut],
    total: Grown,
    watcher: Watcher | None,
) -> Grown:
    """Make the summaries of a layer, their vectors, and the next layer of the draft of them."""
    made: list[build.Made] = []
    for first in range(0, len(cuts), SUMMARIZED_AT_ONCE):
        some = cuts[first : first + SUMMARIZED_AT_ONCE]
        done = _Told(draft.layer + 1, first, len(cuts), watcher)
        total = _made(pipeline, some, made, total, done)
    with pipeline.database.read() as connection:
        build.stand(connection, draft, planes, made)
    return total


@dataclass(frozen=True, slots=True)
class _Told:
    """How far the summaries of a layer have come."""

    layer: int
    before: int
    total: int
    watcher: Watcher | None

    def tell(self, done: int) -> None:
        if self.watcher is not None:
            self.watcher(Progress(f"summaries, layer {self.layer}", self.before + done, self.total, "summaries"))


def _made(pipeline: Pipeline, cuts: Sequence[build.Cut], made: list[build.Made], total: Grown, told: _Told) -> Grown:
    keys = [gist_key(pipeline, one.texts) for one in cuts]
    for _ in range(_TRIES):
        total = _remember_gists(pipeline, dict(zip(keys, (one.texts for one in cuts), strict=True)), total, told)
        with pipeline.database.read() as connection:
            rows = memo.rows(connection, memo.SUMMARY, keys)
            values = memo.values(connection, rows.values())
        texts = {key: gists.unpack(values[row]).text for key, row in rows.items()}
        embedded = {key: content_hash("embed", pipeline.embedder.key, text) for key, text in texts.items()}
        wanted = tuple(Vectored(embedded[key], text, None) for key, text in texts.items())
        remember_vectors(pipeline, [Prepared(Document(id="summaries"), b"", (), wanted)])
        with pipeline.database.read() as connection:
            held = memo.rows(connection, memo.VECTOR, list(embedded.values()))
        if len(rows) == len(set(keys)) and len(held) == len(set(embedded.values())):
            made += [
                build.Made(one, texts[key], rows[key], held[embedded[key]]) for one, key in zip(cuts, keys, strict=True)
            ]
            return total
    raise BusyFile(f"another process keeps emptying the memo of {pipeline.database.path}", "try again when it is done")


def gist_key(pipeline: Pipeline, texts: Sequence[str]) -> bytes:
    """The memo key of a summary: the same texts in the same order give the same."""
    key = "" if pipeline.summarizer is None else pipeline.summarizer.key
    return content_hash("summarize", key, pipeline.settings.summary_tokens, list(texts))


def _remember_gists(pipeline: Pipeline, wanted: dict[bytes, tuple[str, ...]], total: Grown, told: _Told) -> Grown:
    """Ask for the gists that the memo lacks, and remember them as they come."""
    with pipeline.database.read() as connection:
        held = memo.rows(connection, memo.SUMMARY, list(wanted))
    lacking = [(key, texts) for key, texts in wanted.items() if key not in held]
    made, tokens = total.made, total.tokens
    for group in _groups(_gists(pipeline, lacking)):
        with pipeline.database.write() as connection:
            memo.put(
                connection,
                memo.SUMMARY,
                ((key, gists.pack(gist), gist.tokens_in + gist.tokens_out) for key, gist in group),
            )
        made += len(group)
        tokens += sum(gist.tokens_in + gist.tokens_out for _, gist in group)
        told.tell(len(held) + made - total.made)
    return Grown(made, tokens)


def _groups(found: Iterable[tuple[bytes, Gist]]) -> Iterator[list[tuple[bytes, Gist]]]:
    """Gists as they come, as many at once as come in time; what came before an error is given before it is raised."""
    group: list[tuple[bytes, Gist]] = []
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


def _gists(pipeline: Pipeline, work: Sequence[tuple[bytes, tuple[str, ...]]]) -> Iterator[tuple[bytes, Gist]]:
    """Gists in order, several asked for at once. At the first that fails no more are begun; those begun come yet."""
    summarizer, most = pipeline.summarizer, pipeline.settings.summary_tokens
    if summarizer is None:
        return
    count = workers_of(summarizer)
    if count == 1:
        yield from ((key, _checked(summarizer, texts, most)) for key, texts in work)
        return
    ahead: deque[Future[Gist]] = deque()
    error: ModelError | None = None
    pool = ThreadPoolExecutor(count, thread_name_prefix="summarize")
    try:
        for place, (key, _) in enumerate(work):
            if error is None:
                for _, texts in work[place + len(ahead) : place + 2 * count]:
                    ahead.append(pool.submit(_checked, summarizer, texts, most))
            if not ahead:
                break
            try:
                yield key, ahead.popleft().result()
            except ModelError as raised:
                error = error or raised
    finally:
        pool.shutdown(cancel_futures=True)
    if error is not None:
        raise error


def _checked(summarizer: Summarizer, texts: Sequence[str], most: int) -> Gist:
    gist = summarizer.summarize(texts, most)
    if not gist.text.strip() and any(text.strip() for text in texts):
        raise ModelUnavailable(f"the summarizer {summarizer.key!r} gave an empty summary", "it must say something")
    return gist


def resummarize(pipeline: Pipeline, watcher: Watcher | None = None) -> Grown:
    """Make the tree anew with the pipeline's summarizer, which becomes the file's own.

    All summaries are made and remembered first, with the tree that is there standing. What was made of the same texts
    before is remembered.

    Raises
    ------
    ModelError, BusyFile
        As :func:`grow`.
    """
    return grow(pipeline, watcher, anew=True)
