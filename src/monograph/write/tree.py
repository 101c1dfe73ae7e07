"""Update of the tree of summaries: stores missing summaries in the memo, then replaces the tree."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from monograph import telemetry
from monograph.derive.derivation import MissingValue, retry, summaries, vectors
from monograph.errors import BusyFile, MonographError
from monograph.models import Summarizer
from monograph.settings import Settings
from monograph.store import tree as store
from monograph.store.file import memo, settings
from monograph.store.file.database import Connection, Database
from monograph.store.file.errors import decoding
from monograph.tree import build
from monograph.tree.segment import Bounds
from monograph.values import OnProgress, Problem, Progress
from monograph.write.changes import Tally
from monograph.write.configuration import EMBEDDER, SUMMARIZER
from monograph.write.pipeline import Pipeline, write

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Unix
    fcntl = None  # type: ignore[assignment]

SUMMARIZED_AT_ONCE = 2_048
"""Largest number of summaries that are made, and then embedded, at once."""

MOST_TRIES = 20
"""Largest number of tries to update the tree.

A try fails if another writer changes the chunks or the tree meanwhile. That writer then wants to update the tree, too,
and waits for the lock of the tree. So each other writer makes about one try fail.
"""
MADE_OVERTAKEN = 256
"""Largest number of summaries that an update may have made since its first failed try.

If a later try fails and more summaries were made, the update gives up. The tree is then unchanged.
"""
LOCK_PATIENCE = 30.0
"""Seconds that a writer waits for the lock of the tree before it raises BusyFile."""
_LONGEST_PAUSE = 0.02


@dataclass(slots=True)
class TreeUpdate:
    """Counts of one update of the tree: summaries made so far, and tokens that a model read and wrote for them."""

    made: int = 0
    tokens: int = 0


def recipe(summarizer: str, chosen: Settings) -> build.TreeRecipe:
    """Return the settings on which a file's tree depends (it depends on its chunks and their vectors as well).

    ``summarizer`` is the key of the summarizer. ``chosen`` are the settings of the file.
    """
    bounds = Bounds(chosen.segment_least, chosen.segment_most)
    return build.TreeRecipe(summarizer, chosen.summary_tokens, bounds, chosen.summary_layers)


def update(pipeline: Pipeline, on_progress: OnProgress | None = None, *, rebuild: bool = False) -> TreeUpdate:
    """Update the tree so that it summarizes the present chunks.

    Nothing is done without a summarizer, or if the tree is up to date. With ``rebuild``, the tree is rebuilt and the
    pipeline's summarizer becomes the summarizer of the file. Each summary is stored in the memo at once. So after a
    failure the tree is unchanged, and the next update makes only the missing summaries. If several writers want to
    update the tree, one does it for all, and the others wait. Raises ModelError if a summary cannot be made, and
    BusyFile if other processes keep changing the file or hold the lock of the tree for too long.
    """
    spent = TreeUpdate()
    if pipeline.summarizer is None or not (rebuild or _is_stale(pipeline)):
        return spent
    with tree_lock(pipeline.database.path):
        first: int | None = None
        for tries_left in reversed(range(MOST_TRIES)):
            if not (rebuild or _is_stale(pipeline)):
                break  # The previous holder of the lock has updated the tree.
            try:
                draft = _begin_draft(pipeline, rebuild=rebuild)
                derive_layers(pipeline, pipeline.summarizer, draft, spent, on_progress)
                with write(pipeline.database, pipeline.indexes) as connection:
                    _require_same_models(pipeline, rebuild=rebuild)
                    store_tree(connection, pipeline.summarizer, draft, spent)
                break
            except build.TreeChanged:
                first = spent.made if first is None else first
                if not tries_left or spent.made - first > MADE_OVERTAKEN:
                    raise
    return spent


def store_tree(connection: Connection, summarizer: Summarizer, draft: build.TreeDraft, spent: TreeUpdate) -> None:
    """Store a new state of the tree (``draft``), its summarizer and the counts of the update.

    Raises TreeChanged if another process has changed the tree meanwhile.
    """
    build.store_draft(connection, draft)
    settings.save_model(connection, "summarizer", settings.StoredModel(summarizer.key, summarizer.spec))
    settings.count_summaries(connection, spent.made, spent.tokens)


def derive_layers(
    pipeline: Pipeline,
    summarizer: Summarizer,
    draft: build.TreeDraft,
    spent: TreeUpdate,
    on_progress: OnProgress | None = None,
) -> None:
    """Build the layers of summaries in a draft of the tree, from the lowest layer up, and derive missing summaries.

    ``draft`` is a change of the tree in memory: see :class:`monograph.tree.build.TreeDraft`. The numbers of new
    summaries and of their tokens are added to ``spent``. Raises TreeChanged if the draft cannot be stored any more
    because of another writer's changes.
    """
    while True:
        with pipeline.database.read() as connection:
            cuts = build.cut(connection, recipe(summarizer.key, pipeline.settings), draft)
        if cuts is None:
            return
        drafted: list[build.MadeSummary] = []
        for first in range(0, len(cuts), SUMMARIZED_AT_ONCE):
            batch = cuts[first : first + SUMMARIZED_AT_ONCE]
            with pipeline.database.read() as connection:
                texts = build.texts(connection, draft, batch)

            def report(done: int, first: int = first, total: int = len(cuts)) -> None:
                if on_progress is not None:
                    phase = f"summaries, layer {draft.layer + 1}"
                    on_progress(Progress(phase, first + done, total, "summaries"))

            drafted += _make_summaries(pipeline, summarizer, batch, texts, spent, report)
        with pipeline.database.read() as connection:
            build.add_layer(connection, draft, pipeline.embedder.dimension, drafted)


def follow(pipeline: Pipeline, tally: Tally, on_progress: OnProgress | None = None) -> None:
    """Update the tree of summaries after a change was stored; do nothing without a summarizer.

    The number of new summaries is added to ``tally``. If the update fails, the tree is unchanged, and the error is
    added to ``tally`` as a problem instead of being raised.
    """
    if pipeline.summarizer is None:
        return
    with telemetry.span("monograph.tree"):
        try:
            tally.summarized += update(pipeline, on_progress).made
        except MonographError as error:
            tally.problems.append(tree_problem(pipeline.database, error))


def tree_problem(database: Database, error: MonographError) -> Problem:
    """Return the problem to report when a change is stored but the tree could not be updated because of ``error``."""
    path = str(database.path)
    reason = f"the tree of summaries was not updated, and lacks the latest changes: {error.message}"
    if isinstance(error, BusyFile):
        return Problem(path, reason, "the documents are stored; the next write updates the tree")
    return Problem(path, reason, error.hint or f"monograph resummarize {path}")


def _is_stale(pipeline: Pipeline) -> bool:
    with pipeline.database.read() as connection:
        exists = store.exists(connection)
        return not exists or store.count_stale_segments(connection) > 0 or bool(store.stale_leaves(connection))


def _require_same_models(pipeline: Pipeline, *, rebuild: bool) -> None:
    """Raise ModelMismatch if another process has given the file another embedder or summarizer meanwhile."""
    EMBEDDER.check(pipeline.database, pipeline.embedder)
    if pipeline.summarizer is not None and not rebuild:
        SUMMARIZER.check(pipeline.database, pipeline.summarizer)


def _begin_draft(pipeline: Pipeline, *, rebuild: bool) -> build.TreeDraft:
    """Return the draft of a tree update. It has all chunks if the file has no tree yet."""
    with pipeline.database.read() as connection:
        stale = store.stale_leaves(connection)
    if stale:
        with write(pipeline.database, pipeline.indexes):
            pass  # The end of every such transaction updates stale leaves.
    with pipeline.database.read() as connection:
        _require_same_models(pipeline, rebuild=rebuild)
        draft = build.TreeDraft(store.version(connection), rebuild=rebuild)
        if not store.exists(connection):
            build.place_all_leaves(connection, draft, pipeline.embedder.dimension, store.leaves(connection))
        return draft


def _make_summaries(
    pipeline: Pipeline,
    summarizer: Summarizer,
    cuts: Sequence[build.SegmentToSummarize],
    sources: Sequence[tuple[str, ...]],
    spent: TreeUpdate,
    on_stored: Callable[[int], None],
) -> list[build.MadeSummary]:
    """Summarize the segments ``cuts``, whose texts are in ``sources``. Return each summary with its vector."""
    summarizing = summaries(summarizer, pipeline.settings.summary_tokens)
    embedding = vectors(pipeline.embedder)
    keys = [summarizing.key(texts) for texts in sources]
    sources_by_key = dict(zip(keys, sources, strict=True))

    # Summaries and vectors that the memo lacks are made and stored there.
    def derive() -> list[build.MadeSummary]:
        derived = summarizing.derive_missing(pipeline.database, sources_by_key, on_stored=on_stored)
        spent.made += len(derived)
        spent.tokens += sum(tokens for _, _, tokens in derived)
        with pipeline.database.read() as connection:
            rows = memo.rows(connection, memo.SUMMARY, keys)
            values = memo.values(connection, rows.values())
            texts = {}
            for key, row in rows.items():
                with decoding(connection, f"row {row} of memo, a summary,"):
                    texts[key] = store.unpack(values[row]).text
        embedded = {key: embedding.key(text) for key, text in texts.items()}
        embedding.derive_missing(pipeline.database, embedding.keyed(texts.values()))
        with pipeline.database.read() as connection:
            vector_rows = memo.rows(connection, memo.VECTOR, list(embedded.values()))
        if len(rows) < len(set(keys)) or len(vector_rows) < len(set(embedded.values())):
            raise MissingValue
        return [
            build.MadeSummary(
                cut,
                texts[key],
                build.MemoPlace(rows[key], key),
                build.MemoPlace(vector_rows[embedded[key]], embedded[key]),
            )
            for cut, key in zip(cuts, keys, strict=True)
        ]

    return retry(pipeline.database, derive)


@contextmanager
def tree_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a file's tree, so that several writers do not make and pay for the same summaries.

    The lock is on an empty file next to the .mono file. It only saves work: the tree is correct without it. Raises
    BusyFile if another thread or process holds the lock for longer than LOCK_PATIENCE.
    """
    lock = Path(f"{os.path.realpath(path)}-tree")
    descriptor = _lock(lock, path)
    try:
        yield
    finally:
        if descriptor is not None:
            lock.unlink(missing_ok=True)  # Deleted before it is released: a waiting writer then opens a new lock file.
            os.close(descriptor)


def _lock(lock: Path, path: Path) -> int | None:
    """Return a locked descriptor of the lock file; None if the system has no locks or the file cannot be created."""
    end = time.monotonic() + LOCK_PATIENCE
    while fcntl is not None:
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError:
            break
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):  # The previous holder of the lock deletes its file.
                if os.path.samestat(os.fstat(descriptor), lock.stat(follow_symlinks=False)):
                    return descriptor
        except BlockingIOError:
            if time.monotonic() > end:
                os.close(descriptor)
                raise BusyFile(f"another process is updating the tree of {path}", "the next write updates it") from None
        except OSError:  # A file system without locks.
            os.close(descriptor)
            break
        os.close(descriptor)
        time.sleep(random.uniform(0, _LONGEST_PAUSE))  # noqa: S311 - only so that two do not meet again
    return None
