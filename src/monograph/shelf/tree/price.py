"""What a tree over all shards would cost, before anything is asked of a model."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from monograph.library.given import Given
from monograph.library.opened import OpenFile
from monograph.models import Summarizer
from monograph.shelf.opened import OpenShelf
from monograph.shelf.tree import grow
from monograph.store import tree as store
from monograph.tree import build
from monograph.tree.leaves import planes_of
from monograph.values import Cost
from monograph.write import tree
from monograph.write.price_tree import priced


def price(file: OpenShelf, summarizer: Summarizer) -> Cost:
    """What making the tree of a version anew would take: see :meth:`monograph.library.tree.SummaryTree.price`.

    What is remembered of summaries in its catalogue costs nothing. Where the tree is to have other planes than it has,
    or there is none, its chunks are laid down by these in a file that is removed again.
    """
    pipeline, passages = file.pipeline(summarizer=summarizer), grow.ShelfPassages(file.shards)
    with file.database.read() as held:
        if not tree.due_planes(planes_of(held), grow.count(file.shards, pipeline.embedder.dimension), pipeline):
            return priced(held, pipeline, build.Draft(store.version(held), anew=True, passages=passages))
        with TemporaryDirectory(prefix="monograph-") as folder:
            given = Given(Path(folder) / "leaves.mono", embedder=pipeline.embedder, settings=file.settings)
            with closing(OpenFile.open(given)) as laid:
                grow.lay(laid.pipeline(), file.shards)
                with laid.database.read() as connection:
                    draft = build.Draft(store.version(connection), anew=True, passages=passages)
                    return priced(connection, pipeline, draft, held)
