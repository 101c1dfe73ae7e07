"""What a caller says of named things: nodes and relations that no chunk need say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from monograph.values.arrays import Float32
from monograph.values.content import Metadata

NODE_LABEL = "entity"
"""The label of a node that only relations tell of."""


@dataclass(frozen=True, slots=True, eq=False)
class ToldNode:
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
class ToldRelation:
    """A relation that a caller told of: it leads from the node ``source`` to the node ``target``.

    ``properties`` and ``origins`` are as those of a node.
    """

    source: str
    label: str
    target: str
    properties: Metadata = field(default_factory=dict)
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """A part of what was told: nodes by id, and relations in the order in which they were told."""

    nodes: Mapping[str, ToldNode]
    relations: tuple[ToldRelation, ...]
