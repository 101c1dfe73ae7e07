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
from monograph.ingest.limits import Limits
from monograph.library import Monograph
from monograph.models import Embedder, LanguageModel
from monograph.settings import Settings
from monograph.values import (
    Answer,
    Chunk,
    Citation,
    Context,
    Document,
    Finding,
    Hit,
    Mode,
    Origin,
    Passage,
    Plan,
    Problem,
    Progress,
    Reduced,
    Report,
    Section,
    Span,
    Stats,
    Stored,
    Turn,
)

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Chunk",
    "Citation",
    "Context",
    "Document",
    "Embedder",
    "Finding",
    "Hit",
    "LanguageModel",
    "Limits",
    "Mode",
    "Monograph",
    "MonographError",
    "Origin",
    "Passage",
    "Plan",
    "Problem",
    "Progress",
    "Reduced",
    "Report",
    "Section",
    "Settings",
    "Span",
    "Stats",
    "Stored",
    "Turn",
    "count_tokens",
]
