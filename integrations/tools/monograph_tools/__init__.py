"""What the integrations share: an agent's tools, a framework's models in a file, and files open or by their path."""

from monograph.errors import MissingExtra

try:
    import pydantic  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "monograph_tools needs a framework",
        'pip install "monograph[llama-index]", "monograph[langchain]" or "monograph[mcp]"',
    ) from error

from monograph_tools.borrowed import BorrowedEmbedder, BorrowedModel, BorrowedReranker, all_scores
from monograph_tools.calls import in_thread, told
from monograph_tools.faults import for_agents
from monograph_tools.given import (
    Given,
    HeldFile,
    allowed_hits,
    build_graph,
    in_collection,
    opened,
    to_write,
    whole_documents,
)
from monograph_tools.offering import Tool, as_json, offered
from monograph_tools.scores import convention, convert_score

__all__ = [
    "BorrowedEmbedder",
    "BorrowedModel",
    "BorrowedReranker",
    "Given",
    "HeldFile",
    "Tool",
    "all_scores",
    "allowed_hits",
    "as_json",
    "build_graph",
    "convention",
    "convert_score",
    "for_agents",
    "in_collection",
    "in_thread",
    "offered",
    "opened",
    "to_write",
    "told",
    "whole_documents",
]
