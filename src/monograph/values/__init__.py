"""The frozen values that travel between modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.lazy import lazy_names

_MODULES = {
    "monograph.values.answer": (
        "ABSTENTION Answer BestSentence Citation Context Message ReducedHit Span Timings Turn joined rendered"
    ),
    "monograph.values.arguments": "DEFAULT_CUT PassageOrder",
    "monograph.values.arrays": "Float32 Float64 inner_products",
    "monograph.values.content": (
        "PASSAGE_SEPARATOR Chunk Document Metadata Passage Place Section Valid Version check_json cite content_hash"
        " content_id"
    ),
    "monograph.values.found": "Effort Hit Listed Origin StoredChunk",
    "monograph.values.graph": (
        "EMBEDDED_KINDS ENTITY_KINDS Entity Extraction Link Mention Merge Neighbourhood Path PathNode Relation Route"
        " Told ToldNode ToldRelation"
    ),
    "monograph.values.state": "Brief Finding IndexStats LedgerEntry ShelfStats Stats TreeStats",
    "monograph.values.tree": "OutlineNode Quote Source Summary SummaryText",
    "monograph.values.work": (
        "Box Boxes Change ChangeKind Cost Exported Move OnProgress Original OriginalState Plan Problem Progress"
        " Report Root SyncedSource WatchEvent WatchEventKind together"
    ),
}
__all__ = [name for names in _MODULES.values() for name in names.split()]

if TYPE_CHECKING:
    from monograph.values.answer import ABSTENTION as ABSTENTION
    from monograph.values.answer import Answer as Answer
    from monograph.values.answer import BestSentence as BestSentence
    from monograph.values.answer import Citation as Citation
    from monograph.values.answer import Context as Context
    from monograph.values.answer import Message as Message
    from monograph.values.answer import ReducedHit as ReducedHit
    from monograph.values.answer import Span as Span
    from monograph.values.answer import Timings as Timings
    from monograph.values.answer import Turn as Turn
    from monograph.values.answer import joined as joined
    from monograph.values.answer import rendered as rendered
    from monograph.values.arguments import DEFAULT_CUT as DEFAULT_CUT
    from monograph.values.arguments import PassageOrder as PassageOrder
    from monograph.values.arrays import Float32 as Float32
    from monograph.values.arrays import Float64 as Float64
    from monograph.values.arrays import inner_products as inner_products
    from monograph.values.content import PASSAGE_SEPARATOR as PASSAGE_SEPARATOR
    from monograph.values.content import Chunk as Chunk
    from monograph.values.content import Document as Document
    from monograph.values.content import Metadata as Metadata
    from monograph.values.content import Passage as Passage
    from monograph.values.content import Place as Place
    from monograph.values.content import Section as Section
    from monograph.values.content import Valid as Valid
    from monograph.values.content import Version as Version
    from monograph.values.content import check_json as check_json
    from monograph.values.content import cite as cite
    from monograph.values.content import content_hash as content_hash
    from monograph.values.content import content_id as content_id
    from monograph.values.found import Effort as Effort
    from monograph.values.found import Hit as Hit
    from monograph.values.found import Listed as Listed
    from monograph.values.found import Origin as Origin
    from monograph.values.found import StoredChunk as StoredChunk
    from monograph.values.graph import EMBEDDED_KINDS as EMBEDDED_KINDS
    from monograph.values.graph import ENTITY_KINDS as ENTITY_KINDS
    from monograph.values.graph import Entity as Entity
    from monograph.values.graph import Extraction as Extraction
    from monograph.values.graph import Link as Link
    from monograph.values.graph import Mention as Mention
    from monograph.values.graph import Merge as Merge
    from monograph.values.graph import Neighbourhood as Neighbourhood
    from monograph.values.graph import Path as Path
    from monograph.values.graph import PathNode as PathNode
    from monograph.values.graph import Relation as Relation
    from monograph.values.graph import Route as Route
    from monograph.values.graph import Told as Told
    from monograph.values.graph import ToldNode as ToldNode
    from monograph.values.graph import ToldRelation as ToldRelation
    from monograph.values.state import Brief as Brief
    from monograph.values.state import Finding as Finding
    from monograph.values.state import IndexStats as IndexStats
    from monograph.values.state import LedgerEntry as LedgerEntry
    from monograph.values.state import ShelfStats as ShelfStats
    from monograph.values.state import Stats as Stats
    from monograph.values.state import TreeStats as TreeStats
    from monograph.values.tree import OutlineNode as OutlineNode
    from monograph.values.tree import Quote as Quote
    from monograph.values.tree import Source as Source
    from monograph.values.tree import Summary as Summary
    from monograph.values.tree import SummaryText as SummaryText
    from monograph.values.work import Box as Box
    from monograph.values.work import Boxes as Boxes
    from monograph.values.work import Change as Change
    from monograph.values.work import ChangeKind as ChangeKind
    from monograph.values.work import Cost as Cost
    from monograph.values.work import Exported as Exported
    from monograph.values.work import Move as Move
    from monograph.values.work import OnProgress as OnProgress
    from monograph.values.work import Original as Original
    from monograph.values.work import OriginalState as OriginalState
    from monograph.values.work import Plan as Plan
    from monograph.values.work import Problem as Problem
    from monograph.values.work import Progress as Progress
    from monograph.values.work import Report as Report
    from monograph.values.work import Root as Root
    from monograph.values.work import SyncedSource as SyncedSource
    from monograph.values.work import WatchEvent as WatchEvent
    from monograph.values.work import WatchEventKind as WatchEventKind
    from monograph.values.work import together as together
else:
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
