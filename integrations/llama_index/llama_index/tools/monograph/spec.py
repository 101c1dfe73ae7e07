"""What an agent of LlamaIndex can do with a .mono file."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llama_index.core.tools import FunctionTool
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from monograph import Monograph
from monograph.errors import MonographError
from monograph_tools import Tools, reading, resolved


class MonographToolSpec(BaseToolSpec):
    """Tools to search, read and look around in a file; an answer is JSON, each text in it with the place it stands in.

    The question reaches the file as the agent wrote it. ``outline`` is there where the file has a tree of summaries.

    Parameters
    ----------
    monograph:
        An open file; it stays the caller's to close.
    notes:
        Offer ``add_note``, the one tool that writes.
    """

    def __init__(self, monograph: Monograph, *, notes: bool = False) -> None:
        tools = Tools(monograph)
        offered = [*reading(tools), *([tools.add_note] if notes else [])]
        self.spec_functions = [tool.__name__ for tool in offered]
        for tool in offered:
            setattr(self, tool.__name__, _answering(tool))

    def to_tool_list(self, *arguments: Any, **named: Any) -> list[FunctionTool]:
        """The tools, for an agent."""
        return list(super().to_tool_list(*arguments, **named))


def _answering(tool: Callable[..., Any]) -> Callable[..., Any]:
    """A tool that answers in JSON, and says what went wrong instead of failing."""

    @functools.wraps(tool)
    def answering(*arguments: Any, **named: Any) -> str:
        try:
            return str(tool(*arguments, **named).model_dump_json())
        except MonographError as error:
            return f"error: {error}"

    return resolved(tool, answering)
