"""LlamaIndex retrievers over a monograph: by words and meaning, along the graph, through the tree."""

from __future__ import annotations

from typing import Any

from llama_index.retrievers.monograph.over_file import FileRetriever
from monograph import Graph, Strategy, Tree
from monograph_tools import Given, build_graph


class HybridRetriever(FileRetriever):
    """Finds chunks of a monograph by words and by meaning.

    Parameters
    ----------
    monograph, options:
        As for :class:`~llama_index.retrievers.monograph.over_file.FileRetriever`.
    how:
        As for :meth:`monograph.Monograph.search`: a name, or a value like ``Hybrid(alpha=0.3)``.
    """

    def __init__(
        self,
        monograph: Given,
        *,
        how: str | Strategy = "auto",
        **options: Any,
    ) -> None:
        self._how = how
        super().__init__(monograph, **options)

    def _strategy(self) -> str | Strategy:
        return self._how


class MiniRAGRetriever(FileRetriever):
    """Finds chunks hop by hop along the graph of what is named together (Fan et al., MiniRAG, arXiv 2501.06713).

    ``explanation`` of each result names the entities that led to it. This is not built on LlamaIndex's
    property graphs: there an entity keeps one source, and who else named it is lost. The graph of an open file without
    one is built here; the file of a path must have one.

    Parameters
    ----------
    monograph, options:
        As for :class:`~llama_index.retrievers.monograph.over_file.FileRetriever`.
    faithful:
        Search by the paper's own formulas.
    """

    def __init__(self, monograph: Given, *, faithful: bool = False, **options: Any) -> None:
        self._faithful = faithful
        super().__init__(monograph, **options)
        build_graph(monograph)

    def _strategy(self) -> str | Strategy:
        return Graph(faithful=self._faithful)


class TreeRetriever(FileRetriever):
    """Finds chunks and the summaries that stand above them.

    A summary's node has the chunks under it as its children, and its layer under ``monograph_layer``.

    Parameters
    ----------
    monograph, options:
        As for :class:`~llama_index.retrievers.monograph.over_file.FileRetriever`.
    detail:
        The share of chunks among the nodes, from 0 (summaries alone) to 1.
    budget:
        Most tokens of all nodes together.
    """

    def __init__(
        self,
        monograph: Given,
        *,
        detail: float | None = None,
        budget: int | None = None,
        **options: Any,
    ) -> None:
        self._detail = detail
        self._budget = budget
        super().__init__(monograph, **options)

    def _strategy(self) -> str | Strategy:
        return Tree(detail=self._detail, budget=self._budget)
