"""The frozen values that travel between modules."""

from __future__ import annotations

from monograph.values.content import (
    PASSAGE_SEPARATOR,
    Chunk,
    Document,
    Metadata,
    Passage,
    Place,
    Section,
    check_json,
    cite,
    content_hash,
    content_id,
)
from monograph.values.found import (
    Effort,
    Hit,
    Mode,
    Origin,
)
from monograph.values.graph import (
    KINDS,
    Entity,
    Extraction,
    Link,
    Mention,
    Merge,
    Neighbourhood,
    Path,
    PathNode,
    Relation,
)
from monograph.values.state import (
    Finding,
    IndexStats,
    Stats,
)
from monograph.values.tree import (
    Gist,
    Quote,
    Source,
    Summary,
)
from monograph.values.work import (
    Change,
    ChangeKind,
    Cost,
    Plan,
    Problem,
    Progress,
    Report,
    Watcher,
)

__all__ = [
    "KINDS",
    "PASSAGE_SEPARATOR",
    "Change",
    "ChangeKind",
    "Chunk",
    "Cost",
    "Document",
    "Effort",
    "Entity",
    "Extraction",
    "Finding",
    "Gist",
    "Hit",
    "IndexStats",
    "Link",
    "Mention",
    "Merge",
    "Metadata",
    "Mode",
    "Neighbourhood",
    "Origin",
    "Passage",
    "Path",
    "PathNode",
    "Place",
    "Plan",
    "Problem",
    "Progress",
    "Quote",
    "Relation",
    "Report",
    "Section",
    "Source",
    "Stats",
    "Summary",
    "Watcher",
    "check_json",
    "cite",
    "content_hash",
    "content_id",
]
