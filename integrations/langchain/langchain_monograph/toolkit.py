"""What an agent of LangChain can do with a .mono file."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from langchain_core.tools import BaseTool, BaseToolkit, StructuredTool, ToolException
from pydantic import ConfigDict

from monograph import Monograph
from monograph.errors import MonographError
from monograph_tools import Tools, reading, resolved


class MonographToolkit(BaseToolkit):
    """Tools to search, read and look around in a file; an answer is JSON, each text in it with the place it stands in.

    ``outline`` is there where the file has a tree of summaries.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    monograph: Monograph
    """An open file; it stays the caller's to close."""
    notes: bool = False
    """Offer ``add_note``, the one tool that writes."""

    def get_tools(self) -> list[BaseTool]:
        """The tools, for an agent. What goes wrong is said to it, with the mend."""
        tools = Tools(self.monograph)
        offered = [*reading(tools), *([tools.add_note] if self.notes else [])]
        return [
            StructuredTool.from_function(
                _answering(tool), name=tool.__name__, description=tool.__doc__ or "", handle_tool_error=True
            )
            for tool in offered
        ]


def _answering(tool: Callable[..., Any]) -> Callable[..., Any]:
    """A tool that answers in JSON."""

    @functools.wraps(tool)
    def answering(*arguments: Any, **named: Any) -> str:
        try:
            return str(tool(*arguments, **named).model_dump_json())
        except MonographError as error:
            raise ToolException(str(error)) from error

    return resolved(tool, answering)
