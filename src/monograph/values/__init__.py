"""Frozen dataclasses and types that modules exchange. Each module is imported at the first use of one of its names."""

# ruff: noqa: F403 - each name stands once, in _MODULES

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.lazy import lazy_names

_MODULES = {
    "monograph.values.answer": (
        "ABSTENTION Answer BestSentence Citation Context Effort Hit Listed Message Origin ReducedHit Span StoredChunk"
        " Timings Turn Windows join_spans rendered"
    ),
    "monograph.values.arguments": "DEFAULT_CUT PassageOrder",
    "monograph.values.arrays": "Float32 Float64",
    "monograph.values.content": (
        "PASSAGE_SEPARATOR Chunk Document Metadata Passage Place Section Valid Version check_json cite content_hash"
        " content_id"
    ),
    "monograph.values.graph": (
        "EMBEDDED_KINDS ENTITY_KINDS Entity Extraction Link Mention Merge Neighbourhood Path PathNode Relation Route"
        " AssertedNode AssertedRelation Assertions"
    ),
    "monograph.values.state": "Brief Finding IndexStats LedgerEntry ShelfStats Stats TreeStats",
    "monograph.values.tree": "OutlineNode Quote Source Summary SummaryText",
    "monograph.values.work": (
        "Box Boxes Change ChangeKind Cost Exported Move OnProgress Original OriginalState Plan Problem Progress"
        " Report Root SyncedSource WatchEvent WatchEventKind combine_reports"
    ),
}
__all__ = [name for names in _MODULES.values() for name in names.split()]

if TYPE_CHECKING:
    from monograph.values.answer import *
    from monograph.values.arguments import *
    from monograph.values.arrays import *
    from monograph.values.content import *
    from monograph.values.graph import *
    from monograph.values.state import *
    from monograph.values.tree import *
    from monograph.values.work import *
else:
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
