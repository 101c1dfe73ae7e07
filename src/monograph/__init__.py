"""Graph RAG in one file.

Monograph stores the documents of a folder in one SQLite file, which answers questions about them::

    from monograph import Monograph

    with Monograph.open("notes.mono") as notes:
        notes.sync("notes/")
        for hit in notes.search("when is the boiler serviced?"):
            print(hit.uri, hit.chunk.text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.lazy import lazy_names

__version__ = "0.1.0"

_MODULES = {
    "monograph.derive.tokens": "count_tokens",
    "monograph.errors": "MonographError",
    "monograph.library.copies": "decrypt encrypt",
    "monograph.library.monograph": "Monograph",
    "monograph.library.reader": "Reader Snapshot View",
    "monograph.models": "Embedder LanguageModel Reranker",
    "monograph.read.limits": "Limits",
    "monograph.search.query": "Strategy",
    "monograph.search.strategies": "Auto Dense Graph Hybrid Lexical Tfidf Tree strategies strategy",
    "monograph.settings": "Settings",
    "monograph.values.answer": (
        "Answer BestSentence Citation Context Hit Origin ReducedHit Span StoredChunk Turn Windows"
    ),
    "monograph.values.content": "Chunk Document Passage Section Valid Version",
    "monograph.values.state": "Finding Stats",
    "monograph.values.work": "Plan Problem Progress Report",
    "monograph.vectors.stop": "Budget Exponential Never RankAware StopCondition VBase",
}
__all__ = [name for names in _MODULES.values() for name in names.split()]

if TYPE_CHECKING:
    from monograph.derive.tokens import count_tokens as count_tokens
    from monograph.errors import MonographError as MonographError
    from monograph.library.copies import decrypt as decrypt
    from monograph.library.copies import encrypt as encrypt
    from monograph.library.monograph import Monograph as Monograph
    from monograph.library.reader import Reader as Reader
    from monograph.library.reader import Snapshot as Snapshot
    from monograph.library.reader import View as View
    from monograph.models import Embedder as Embedder
    from monograph.models import LanguageModel as LanguageModel
    from monograph.models import Reranker as Reranker
    from monograph.read.limits import Limits as Limits
    from monograph.search.query import Strategy as Strategy
    from monograph.search.strategies import Auto as Auto
    from monograph.search.strategies import Dense as Dense
    from monograph.search.strategies import Graph as Graph
    from monograph.search.strategies import Hybrid as Hybrid
    from monograph.search.strategies import Lexical as Lexical
    from monograph.search.strategies import Tfidf as Tfidf
    from monograph.search.strategies import Tree as Tree
    from monograph.search.strategies import strategies as strategies
    from monograph.search.strategies import strategy as strategy
    from monograph.settings import Settings as Settings
    from monograph.values.answer import Answer as Answer
    from monograph.values.answer import BestSentence as BestSentence
    from monograph.values.answer import Citation as Citation
    from monograph.values.answer import Context as Context
    from monograph.values.answer import Hit as Hit
    from monograph.values.answer import Origin as Origin
    from monograph.values.answer import ReducedHit as ReducedHit
    from monograph.values.answer import Span as Span
    from monograph.values.answer import StoredChunk as StoredChunk
    from monograph.values.answer import Turn as Turn
    from monograph.values.answer import Windows as Windows
    from monograph.values.content import Chunk as Chunk
    from monograph.values.content import Document as Document
    from monograph.values.content import Passage as Passage
    from monograph.values.content import Section as Section
    from monograph.values.content import Valid as Valid
    from monograph.values.content import Version as Version
    from monograph.values.state import Finding as Finding
    from monograph.values.state import Stats as Stats
    from monograph.values.work import Plan as Plan
    from monograph.values.work import Problem as Problem
    from monograph.values.work import Progress as Progress
    from monograph.values.work import Report as Report
    from monograph.vectors.stop import Budget as Budget
    from monograph.vectors.stop import Exponential as Exponential
    from monograph.vectors.stop import Never as Never
    from monograph.vectors.stop import RankAware as RankAware
    from monograph.vectors.stop import StopCondition as StopCondition
    from monograph.vectors.stop import VBase as VBase
else:
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
