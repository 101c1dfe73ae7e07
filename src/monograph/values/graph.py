"""Values of the graph: mentions and relations found in chunks, entities, callers' assertions, and graph excerpts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from monograph.values.content import Chunk, Document, Metadata

if TYPE_CHECKING:
    from monograph.values.arrays import Float32
else:
    Float32 = Any  # Resolving the types of fields must not import numpy.

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
"""All coarse types of mentions. ``name`` is a proper name of unknown type, ``term`` any other thing.

Files store indexes into this tuple: append new types only at its end.
"""

EMBEDDED_KINDS = frozenset(("person", "organisation", "place", "work", "event", "name"))
"""Kinds of names that are embedded, so that they can be found by similarity. Dates and amounts are found by their
words.
"""

NODE_LABEL = "entity"
"""Default label of a node.

A relation may have an end that no caller has added as a node. The node that is added for this end has this label.
"""


@dataclass(frozen=True, slots=True)
class Mention:
    """Occurrence of a named thing in a chunk, at ``chunk.text[start:end]``.

    Parameters
    ----------
    name:
        Name of the thing: the text itself, or its full name if a model gave one.
    kind:
        A coarse type in lower case: see :data:`ENTITY_KINDS`.
    start, end:
        Offsets into the chunk's text.
    description:
        A model's description of the thing; empty without a model.
    """

    name: str
    kind: str
    start: int
    end: int
    description: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """Relation of two named things in a chunk, as found by an extractor.

    ``source`` and ``target`` are names of mentions in the same extraction. ``strength`` is above 0 and at most 1. A
    model writes ``description`` and ``keywords``; they are empty if no model was used.
    """

    source: str
    target: str
    description: str = ""
    keywords: tuple[str, ...] = ()
    strength: float = 1.0


@dataclass(frozen=True, slots=True)
class Extraction:
    """Result of an extractor for one chunk: mentions in order of ``start``, and relations.

    ``tokens`` is the number of tokens that a model read and wrote. ``failure`` is empty unless a model's answer was
    unusable. Then it is the reason, and the mentions were found by patterns instead.
    """

    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    tokens: int = 0
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """Named thing in the file: all mentions that mean the same thing.

    Parameters
    ----------
    id:
        Derived from the name; changes only if the name does.
    name:
        Spelling that most chunks use.
    kind:
        Type that most of its mentions have.
    names:
        All its names, most frequent first.
    chunks:
        Number of chunks that name the entity.
    documents:
        Ids of the documents whose title names the entity: the entity is their subject.
    first_seen, last_seen:
        Earliest and latest date of the documents that name the entity, as ``2026-03-01`` in UTC. Only dates in metadata
        or text count, not the dates of files. Empty if no document has such a date.
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
    """Two entities that chunks name in the same sentence, or between which a model or a caller states a relation.

    Parameters
    ----------
    source, target:
        Ids of the entities, in the direction of most stated relations. If none is stated, ``source`` is the smaller id.
    weight:
        Frequency of the link times its surprise, above 0. The frequency is the number of ``chunks``, plus the strengths
        of the relations that a model found, plus the number of relations that callers added. The surprise is high if
        chunks name both entities more often than chance would explain.
    chunks:
        Ids of the chunks that name both entities in one sentence or state a relation between them.
    description:
        Descriptions of the relation that a model wrote, one per line; empty if no model was used.
    keywords:
        Keywords of the relation that a model wrote, then the labels of the relations that callers added.
    """

    source: str
    target: str
    weight: float
    chunks: tuple[str, ...]
    description: str = ""
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Merge:
    """Two names that were merged into one entity, with the reason.

    Parameters
    ----------
    id:
        Id of the merge, by which it is undone.
    name, other:
        Name of the entity, and the name that was merged into it.
    reason:
        Rule that merged the names, in a word or two.
    detail:
        Explanation of the merge, such as ``the same words in the plural``; empty if there is none.
    undone:
        Whether the merge was undone. The names are then never merged again automatically.
    """

    id: str
    name: str
    other: str
    reason: str
    detail: str
    undone: bool = False


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Part of the entity–chunk graph: entities near a centre, with the chunks that name them.

    Parameters
    ----------
    centre:
        Ids of the entities whose neighbourhood this is.
    entities:
        Entity nodes: the centre first, then the other entities by number of hops from the centre. Equally distant
        entities are ordered by the weight of their heaviest link to an entity one hop nearer, highest first.
    links:
        Edges between these entities, heaviest first.
    chunks:
        Chunk nodes: chunks that name any of the entities; chunks that name the centre first. Both groups are sorted by
        total surprise (see :class:`Link`) of links that list a chunk, highest first. The centre's links count twice.
    mentions:
        Edges between entities and chunks, as (entity id, chunk id).
    cut:
        Number of neighbours that were left out to limit the size.
    documents:
        Documents of the chunks, and documents whose subject is one of the entities; without their texts.
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
    """Route from one entity to another: ``links[i]`` joins ``entities[i]`` and ``entities[i + 1]``."""

    entities: tuple[Entity, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class PathNode:
    """Node of a path from a question to a chunk.

    ``kind`` is ``question``, ``entity`` or ``chunk``. ``id`` is the id of the entity or chunk; it is empty for the
    question. ``name`` is the name to display.
    """

    kind: Literal["question", "entity", "chunk"]
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Path:
    """Path through the graph from the question to a chunk: its nodes in order, and its score."""

    nodes: tuple[PathNode, ...]
    score: float

    def __str__(self) -> str:
        # A chunk may have the same name as the entity before it, its document's subject: that name is shown once.
        names = [node.name for node in self.nodes]
        return " → ".join(name for index, name in enumerate(names) if index == 0 or name != names[index - 1])


@dataclass(frozen=True, slots=True, eq=False)
class AssertedNode:
    """Node that a caller added to the graph.

    Parameters
    ----------
    id:
        Id that relations use for the node.
    name:
        Name of the node. If it is empty, the id is used as the name. If chunks mention the same name, the node is the
        entity of that name.
    label:
        Type of the node.
    properties:
        A JSON object.
    embedding:
        float32 (dimension,), not necessarily of unit length; None without one.
    origins:
        Ids of the chunks and documents that support the node. The node is kept as long as at least one of them is in
        the file. Without origins, the node is kept until it is removed.
    """

    id: str
    name: str = ""
    label: str = NODE_LABEL
    properties: Metadata = field(default_factory=dict)
    embedding: Float32 | None = None
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AssertedRelation:
    """Relation that a caller added to the graph. ``source`` and ``target`` are ids of nodes.

    ``properties`` and ``origins`` have the same meaning as those of :class:`AssertedNode`.
    """

    source: str
    label: str
    target: str
    properties: Metadata = field(default_factory=dict)
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assertions:
    """Assertions of callers: nodes by id, and relations in the order in which they were added."""

    nodes: Mapping[str, AssertedNode]
    relations: tuple[AssertedRelation, ...]
