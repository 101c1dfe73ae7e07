"""What an agent of LlamaIndex can do with a .mono file."""

from __future__ import annotations

from typing import Any

from llama_index.core.tools import FunctionTool
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from monograph import Monograph
from monograph.errors import MonographError
from monograph_tools import answering, as_json, offered


class MonographToolSpec(BaseToolSpec):
    """Tools to search, read and look around in a file; an answer is JSON, each text in it with the place it stands in.

    What goes wrong is said to the agent, with the mend. The question reaches the file as the agent wrote it.
    ``outline`` is there where the file has a tree of summaries.

    Parameters
    ----------
    monograph:
        An open file; it stays the caller's to close.
    notes:
        Offer ``add_note``, the one tool that writes.
    """

    def __init__(self, monograph: Monograph, *, notes: bool = False) -> None:
        tools = offered(monograph, notes=notes)
        self.spec_functions = [tool.__name__ for tool in tools]
        for tool in tools:
            setattr(self, tool.__name__, answering(tool, as_json, _said))

    def to_tool_list(self, *arguments: Any, **named: Any) -> list[FunctionTool]:
        """The tools, for an agent."""
        return list(super().to_tool_list(*arguments, **named))


def _said(error: MonographError) -> str:
    return f"error: {error}"
