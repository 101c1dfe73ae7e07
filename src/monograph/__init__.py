"""Graph RAG in one file.

Point Monograph at a folder; it makes one SQLite file that answers questions::

    from monograph import Monograph

    with Monograph.open("notes.mono") as notes:
        notes.sync("notes/")
        for hit in notes.search("when is the boiler serviced?"):
            print(hit.uri, hit.chunk.text)
"""

from monograph.derive.tokens import count_tokens
from monograph.errors import MonographError
from monograph.library import Monograph
from monograph.library.convert import decrypt, encrypt
from monograph.models import Embedder, LanguageModel, Reranker
from monograph.read.limits import Limits
from monograph.search.how import strategies, strategy
from monograph.search.how.auto import Auto
from monograph.search.how.dense import Dense
from monograph.search.how.graph import Graph
from monograph.search.how.hybrid import Hybrid
from monograph.search.how.lexical import Lexical
from monograph.search.how.tfidf import Tfidf
from monograph.search.how.tree import Tree
from monograph.search.strategy import Strategy
from monograph.settings import Settings
from monograph.values import (
    Answer,
    BestSentence,
    Chunk,
    Citation,
    Context,
    Document,
    Finding,
    Hit,
    Origin,
    Passage,
    Plan,
    Problem,
    Progress,
    ReducedHit,
    Report,
    Section,
    Span,
    Stats,
    StoredChunk,
    Turn,
    Valid,
    Version,
)

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Auto",
    "BestSentence",
    "Chunk",
    "Citation",
    "Context",
    "Dense",
    "Document",
    "Embedder",
    "Finding",
    "Graph",
    "Hit",
    "Hybrid",
    "LanguageModel",
    "Lexical",
    "Limits",
    "Monograph",
    "MonographError",
    "Origin",
    "Passage",
    "Plan",
    "Problem",
    "Progress",
    "ReducedHit",
    "Report",
    "Reranker",
    "Section",
    "Settings",
    "Span",
    "Stats",
    "StoredChunk",
    "Strategy",
    "Tfidf",
    "Tree",
    "Turn",
    "Valid",
    "Version",
    "count_tokens",
    "decrypt",
    "encrypt",
    "strategies",
    "strategy",
]
