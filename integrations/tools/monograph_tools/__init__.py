"""Shared parts of the integrations: tools for agents, adapters of frameworks' models, and file handles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.errors import MissingExtra
from monograph.lazy import lazy_names

try:
    import pydantic  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "monograph_tools needs a framework",
        'pip install "monograph[llama-index]", "monograph[langchain]" or "monograph[mcp]"',
    ) from error

_MODULES = {
    "monograph.shelf": "to_write",
    "monograph_tools.borrowed": "BorrowedEmbedder BorrowedModel BorrowedReranker all_scores require_vectors",
    "monograph_tools.calls": "ClosesFile FileStore in_thread refuse_unknown warn_of_problems",
    "monograph_tools.faults": "for_agents",
    "monograph_tools.file_handle": (
        "COLLECTION AnyArchive FileHandle SPANS Stopping archive_of build_graph dense_hits opened"
        " reduce_texts require_query_vector whole_documents windows_of"
    ),
    "monograph_tools.offering": "Tool offered wrong_arguments",
    "monograph_tools.scores": "convention convert_score select_diverse",
}
__all__ = [name for names in _MODULES.values() for name in names.split()]

if TYPE_CHECKING:
    from monograph.shelf import to_write as to_write
    from monograph_tools.borrowed import BorrowedEmbedder as BorrowedEmbedder
    from monograph_tools.borrowed import BorrowedModel as BorrowedModel
    from monograph_tools.borrowed import BorrowedReranker as BorrowedReranker
    from monograph_tools.borrowed import all_scores as all_scores
    from monograph_tools.borrowed import require_vectors as require_vectors
    from monograph_tools.calls import ClosesFile as ClosesFile
    from monograph_tools.calls import FileStore as FileStore
    from monograph_tools.calls import in_thread as in_thread
    from monograph_tools.calls import refuse_unknown as refuse_unknown
    from monograph_tools.calls import warn_of_problems as warn_of_problems
    from monograph_tools.faults import for_agents as for_agents
    from monograph_tools.file_handle import COLLECTION as COLLECTION
    from monograph_tools.file_handle import SPANS as SPANS
    from monograph_tools.file_handle import AnyArchive as AnyArchive
    from monograph_tools.file_handle import FileHandle as FileHandle
    from monograph_tools.file_handle import Stopping as Stopping
    from monograph_tools.file_handle import archive_of as archive_of
    from monograph_tools.file_handle import build_graph as build_graph
    from monograph_tools.file_handle import dense_hits as dense_hits
    from monograph_tools.file_handle import opened as opened
    from monograph_tools.file_handle import reduce_texts as reduce_texts
    from monograph_tools.file_handle import require_query_vector as require_query_vector
    from monograph_tools.file_handle import whole_documents as whole_documents
    from monograph_tools.file_handle import windows_of as windows_of
    from monograph_tools.offering import Tool as Tool
    from monograph_tools.offering import offered as offered
    from monograph_tools.offering import wrong_arguments as wrong_arguments
    from monograph_tools.scores import convention as convention
    from monograph_tools.scores import convert_score as convert_score
    from monograph_tools.scores import select_diverse as select_diverse
else:
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
