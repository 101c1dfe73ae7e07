"""What an agent of LangChain can do with a .mono file."""

from __future__ import annotations

from typing import NoReturn

from langchain_core.tools import BaseTool, BaseToolkit, StructuredTool, ToolException
from pydantic import ConfigDict

from monograph import Monograph
from monograph.errors import MonographError
from monograph_tools import answering, as_json, offered


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
        return [
            StructuredTool.from_function(
                answering(tool, as_json, _failed),
                name=tool.__name__,
                description=tool.__doc__ or "",
                handle_tool_error=True,
            )
            for tool in offered(self.monograph, notes=self.notes)
        ]


def _failed(error: MonographError) -> NoReturn:
    raise ToolException(str(error)) from error
