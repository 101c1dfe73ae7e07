"""The tree of summaries over a shelf, opened, priced and made: ``shelf.tree``."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import TypeAlias

from monograph.explore import outline
from monograph.library.given import Given
from monograph.models import Summarizer
from monograph.shelf.gather.asking import Asking
from monograph.shelf.opened import OpenShelf
from monograph.shelf.place import Place
from monograph.shelf.tree import grow
from monograph.shelf.tree.price import price as price_of
from monograph.shelf.versions.manifest import Manifest
from monograph.shelf.versions.publish import publish
from monograph.shelf.versions.sweep import sweep
from monograph.shelf.versions.writer import writing
from monograph.values import Cost, OnProgress, OutlineNode, Report, Summary, arguments
from monograph.write.tree import TreeUpdate

Resummarize: TypeAlias = Callable[[Summarizer | None, OnProgress | None], TreeUpdate]
"""Publishes a version whose tree is made anew."""


class ShelfTree:
    """Summaries over the chunks of all shards; made by :attr:`monograph.shelf.Shelf.tree`."""

    def __init__(self, file: OpenShelf, resummarize: Resummarize) -> None:
        self._file, self._resummarize = file, resummarize

    @property
    def summarizer(self) -> Summarizer:
        """What makes the summaries; in a shelf without a tree, what would."""
        return self._file.summarizer

    def outline(self, node: str = "", layers: int = 2) -> list[OutlineNode]:
        """The tree as a table of contents: see :meth:`monograph.library.tree.SummaryTree.outline`."""
        layers = arguments.whole_number(layers, "layers", 0)
        with self._file.reading() as gathered:
            gathered.require_tree()
            return outline.outline(gathered.catalogue.connection, node, layers, gathered, self._file.url)

    def summary(self, node: str) -> Summary:
        """A summary by its id: see :meth:`monograph.library.tree.SummaryTree.summary`."""
        with self._file.reading() as gathered:
            gathered.require_tree()
            return outline.summary(gathered.catalogue.connection, node, gathered, self._file.url)

    def over(self, document: str) -> list[Summary]:
        """The summaries over the chunks of a document: see :meth:`monograph.library.tree.SummaryTree.over`."""
        with self._file.around() as around:
            return outline.over_chunks(around.names, around.chunks_of(document), around.gathered)

    def rebuild(self, summarizer: Summarizer | None = None, *, progress: OnProgress | None = None) -> Report:
        """Make the tree, or make it anew with another summarizer, and publish that as a version.

        Without a summarizer the shelf's own makes it. What was made of the same texts before is remembered. From then
        on every version has a tree.

        Raises
        ------
        InputError
            If something is written and not published.
        ModelError
            If a summary cannot be made: the shelf is as it was, and what was made is remembered here.
        """
        return Report(summarized=self._resummarize(summarizer, progress).made)

    def price(self, summarizer: Summarizer | None = None) -> Cost:
        """What :meth:`rebuild` would take: its summaries and, at most, what they ask of a language model."""
        self._file.only_whole("tree.price")
        return price_of(self._file, summarizer or self._file.summarizer)


def resummarized(
    place: Place, version: Manifest, shards: Asking, given: Given, on_progress: OnProgress | None
) -> tuple[Manifest, TreeUpdate]:
    """Publish the same shards with a tree made anew; what that took. Raises as :meth:`ShelfTree.rebuild`."""
    place.work.mkdir(parents=True, exist_ok=True)
    path = place.work / "resummarized.mono"
    with writing(place.objects):
        grow.put_aside(path)
        shutil.copyfile(place.file_of(version.catalogue), path)
        made = grow.follow(path, shards, given, None, anew=True, on_progress=on_progress)
        published = publish(place.objects, version.shards, path, version, version.settings)
        for left in (path, path.with_name(grow.KEPT)):
            left.unlink(missing_ok=True)
        sweep(place.objects)
    return published, made
