"""LlamaIndex retrievers over a monograph: lexical and dense, along the graph, through the tree."""

from __future__ import annotations

from typing import Unpack

from llama_index.retrievers.monograph.over_file import FileRetriever, RetrieverOptions
from monograph import Graph, Strategy, Tree, strategy
from monograph_tools import Given, build_graph


class HybridRetriever(FileRetriever):
    """Finds chunks of a monograph by words and by meaning.

    Parameters
    ----------
    how:
        As for :meth:`monograph.Monograph.search`: a name, or a value like ``Hybrid(alpha=0.3)``.

    The others are those of :class:`~llama_index.retrievers.monograph.over_file.FileRetriever`.

    Raises
    ------
    InputError
        If ``how`` is no search mode, or as FileRetriever does.
    """

    def __init__(
        self,
        monograph: Given,
        *,
        how: str | Strategy = "auto",
        **options: Unpack[RetrieverOptions],
    ) -> None:
        self._how = strategy(how)
        super().__init__(monograph, **options)

    def _strategy(self) -> Strategy:
        return self._how


class MiniRAGRetriever(FileRetriever):
    """Finds chunks hop by hop along the entity graph (Fan et al., MiniRAG, arXiv 2501.06713).

    By default it runs Monograph's own graph search, ``how="graph"``: it starts at the entities that the question names,
    follows the graph, and ranks with lexical and dense scores. ``faithful=True`` runs the paper's formulas (Eq. 2 and
    3) instead. See ``docs/graph.md`` for both, and ``docs/which-mode.md`` for what each finds.

    ``explanation`` of each result names the entities that led to it. This is not built on LlamaIndex's property graphs:
    there an entity keeps one source, and who else named it is lost. A file without a graph gets one here.

    Parameters
    ----------
    faithful:
        Search by the paper's own formulas.

    The others are those of :class:`~llama_index.retrievers.monograph.over_file.FileRetriever`.

    Raises
    ------
    InputError
        If the archive is a view of a file without a graph, or as FileRetriever does.
    ReadOnlyFile
        If the file has no graph and cannot be written.
    """

    def __init__(
        self,
        monograph: Given,
        *,
        faithful: bool = False,
        **options: Unpack[RetrieverOptions],
    ) -> None:
        self._faithful = faithful
        super().__init__(monograph, **options)
        build_graph(monograph, options.get("key"), self._embedder)

    def _strategy(self) -> Strategy:
        return Graph(faithful=self._faithful)


class TreeRetriever(FileRetriever):
    """Finds chunks and the summaries that stand above them.

    A summary's node has the chunks under it as its children, and its layer under ``monograph_layer``.

    Parameters
    ----------
    detail:
        The share of chunks among the nodes, from 0 (summaries alone) to 1.
    budget:
        Most tokens of all nodes together.

    The others are those of :class:`~llama_index.retrievers.monograph.over_file.FileRetriever`.

    Raises
    ------
    InputError
        If ``detail`` or ``budget`` is out of range, or as FileRetriever does.
    """

    def __init__(
        self,
        monograph: Given,
        *,
        detail: float | None = None,
        budget: int | None = None,
        **options: Unpack[RetrieverOptions],
    ) -> None:
        self._tree = Tree(detail=detail, budget=budget)
        super().__init__(monograph, **options)

    def _strategy(self) -> Strategy:
        return self._tree
