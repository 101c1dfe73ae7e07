"""Values of the graph: what is found in chunks, what callers tell, and what is shown of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from monograph.values.content import Chunk, Document, Metadata

if TYPE_CHECKING:
    from monograph.values.arrays import Float32
else:
    Float32 = Any  # The types of fields are found without numpy.

ENTITY_KINDS = (
    "person",
    "organisation",
    "place",
    "work",
    "event",
    "date",
    "time",
    "quantity",
    "code",
    "email",
    "url",
    "quote",
    "term",
    "name",
)
"""Every coarse type that a mention has; ``name`` is a proper name of unknown type, ``term`` any other thing.

Files hold places in this tuple: it may only grow at its end.
"""

EMBEDDED_KINDS = frozenset(("person", "organisation", "place", "work", "event", "name"))
"""Kinds of names that are embedded, to be found by what they mean; a date or an amount is found by its words."""

NODE_LABEL = "entity"
"""The label of a node that only relations tell of."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A named thing where it stands in a chunk: ``chunk.text[start:end]``.

    Parameters
    ----------
    name:
        What it is called: the text itself, or its full name where a model gave one.
    kind:
        A coarse type in lower case: see :data:`ENTITY_KINDS`.
    start, end:
        Offsets into the chunk's text.
    description:
        What a model wrote about it; empty without a model.
    """

    name: str
    kind: str
    start: int
    end: int
    description: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """Relation of two named things in a chunk: ``source`` and ``target`` are names of mentions in the same extraction.

    ``strength`` is above 0, at most 1; ``description`` and ``keywords`` are a model's, else empty.
    """

    source: str
    target: str
    description: str = ""
    keywords: tuple[str, ...] = ()
    strength: float = 1.0


@dataclass(frozen=True, slots=True)
class Extraction:
    """Extraction from one chunk: mentions in order of ``start``, and relations.

    ``tokens`` counts what a model read and wrote for it; ``failure`` says why a model's answer could not be used and
    patterns were, and is empty when all went well.
    """

    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    tokens: int = 0
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """A named thing of the file: all mentions that were taken to mean the same.

    Parameters
    ----------
    id:
        Made from its name; stays the same while the name does.
    name:
        Its name as most chunks write it.
    kind:
        The type that most mentions have.
    names:
        Every name it goes by, the most frequent first.
    chunks:
        In how many chunks it is named.
    documents:
        Ids of documents whose subject it is: their title names it.
    first_seen, last_seen:
        The first and the last day that documents which name it are from, ``2026-03-01`` in UTC, as far as they tell
        that themselves; empty where none does.
    """

    id: str
    name: str
    kind: str
    names: tuple[str, ...] = ()
    chunks: int = 0
    documents: tuple[str, ...] = ()
    first_seen: str = ""
    last_seen: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """Two entities that chunks name together.

    Parameters
    ----------
    source, target:
        Ids of entities; ``source`` comes first in order of id where no model gave a direction.
    weight:
        Above 0: how much more often than by chance they come together, times 1 + a model's strength where there is one.
    chunks:
        Ids of every chunk that it comes from.
    description, keywords:
        What a model wrote, from all of those chunks; empty without a model.
    """

    source: str
    target: str
    weight: float
    chunks: tuple[str, ...]
    description: str = ""
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Merge:
    """Two names taken to mean one entity, and why.

    Parameters
    ----------
    id:
        The merge's own, by which it is undone.
    name, other:
        The entity's name, and the name that was taken to mean the same.
    reason:
        The rule that joined them, in a word or two.
    detail:
        What the rule saw.
    undone:
        Whether it was taken back; it then never comes again by itself.
    """

    id: str
    name: str
    other: str
    reason: str
    detail: str
    undone: bool = False


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A part of the entity–chunk graph.

    Parameters
    ----------
    centre:
        Ids of the entities that it was asked for.
    entities:
        Nodes, the centre first, then by distance and weight.
    links:
        Entity–entity edges among them, heaviest first.
    chunks:
        Chunk nodes: those that name at least one of the entities, most telling first.
    mentions:
        Entity–chunk edges: (entity id, chunk id).
    cut:
        How many neighbours were left out to keep it readable.
    documents:
        Those that its chunks are from and its entities are the subject of, without their texts.
    """

    centre: tuple[str, ...]
    entities: tuple[Entity, ...]
    links: tuple[Link, ...]
    chunks: tuple[Chunk, ...] = ()
    mentions: tuple[tuple[str, str], ...] = ()
    cut: int = 0
    documents: tuple[Document, ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    """A way from one entity to another: ``links[i]`` joins ``entities[i]`` and ``entities[i + 1]``."""

    entities: tuple[Entity, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class PathNode:
    """A station on the way from a question to a chunk: ``kind`` is ``question``, ``entity`` or ``chunk``.

    ``id`` is the entity's or chunk's (empty for the question), ``name`` what people read.
    """

    kind: Literal["question", "entity", "chunk"]
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Path:
    """Path through the graph from the question to a chunk: stations in order, and the score of the way."""

    nodes: tuple[PathNode, ...]
    score: float

    def __str__(self) -> str:
        # A chunk of the document about the last entity is not named twice.
        names = [node.name for node in self.nodes]
        return " → ".join(name for at, name in enumerate(names) if at == 0 or name != names[at - 1])


@dataclass(frozen=True, slots=True, eq=False)
class AssertedNode:
    """A thing that a caller told of.

    Parameters
    ----------
    id:
        By which relations name it.
    name:
        What it is called; empty for its id. A name that chunks have is their entity's.
    label:
        Its type.
    properties:
        A JSON object.
    embedding:
        float32 (dimension,), of any length; None without one.
    origins:
        Ids of the chunks and documents that say it: it is told as long as one of them is in the file. Without one
        nobody's text says it, and it stays until it is taken back.
    """

    id: str
    name: str = ""
    label: str = NODE_LABEL
    properties: Metadata = field(default_factory=dict)
    embedding: Float32 | None = None
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AssertedRelation:
    """A relation that a caller told of: it leads from the node ``source`` to the node ``target``.

    ``properties`` and ``origins`` are as those of a node.
    """

    source: str
    label: str
    target: str
    properties: Metadata = field(default_factory=dict)
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assertions:
    """A part of what was told: nodes by id, and relations in the order in which they were told."""

    nodes: Mapping[str, AssertedNode]
    relations: tuple[AssertedRelation, ...]
