"""The frozen values that travel between modules."""

from __future__ import annotations

from monograph.values.content import (
    PASSAGE_SEPARATOR,
    Chunk,
    Document,
    Metadata,
    Passage,
    Section,
    check_json,
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
    TreeStats,
)
from monograph.values.tree import (
    Branch,
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
    "Branch",
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
    "TreeStats",
    "Watcher",
    "check_json",
    "content_hash",
    "content_id",
]
