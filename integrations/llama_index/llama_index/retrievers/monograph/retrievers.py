"""LlamaIndex retrievers over a file or shelf: hybrid, graph and tree search."""

from __future__ import annotations

from typing import Unpack

from llama_index.retrievers.monograph.over_file import FileRetriever, RetrieverOptions
from monograph import Graph, Strategy, Tree, strategy
from monograph_tools import Given, build_graph


class HybridRetriever(FileRetriever):
    """Finds chunks by lexical and dense search, or by any other search mode.

    Parameters
    ----------
    how:
        As for :meth:`monograph.Monograph.search`: the name of a search mode, or a value such as ``Hybrid(alpha=0.3)``.

    The other parameters are those of :class:`~llama_index.retrievers.monograph.over_file.FileRetriever`.

    Raises
    ------
    InputError
        If ``how`` is not a search mode, or as FileRetriever does.
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
    3) instead. See ``docs/explanation/graph.md`` for both, and ``docs/how-to/which-mode.md`` for what each finds.

    ``explanation`` of each result names the entities that led to it. The retriever does not use LlamaIndex's property
    graphs, which keep only one source of each entity. If the file has no graph, the graph is built here.

    Parameters
    ----------
    faithful:
        Rank by the paper's own formulas.

    The other parameters are those of :class:`~llama_index.retrievers.monograph.over_file.FileRetriever`.

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
    """Finds chunks and the summaries above them in the tree.

    A summary's node has the chunks under it as its children, and its layer in the metadata as ``monograph_layer``.

    Parameters
    ----------
    detail:
        Share of chunks among the nodes, from 0 (summaries only) to 1 (chunks only).
    budget:
        Maximum number of tokens of all nodes together.

    The other parameters are those of :class:`~llama_index.retrievers.monograph.over_file.FileRetriever`.

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
