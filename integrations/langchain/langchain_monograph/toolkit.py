"""What an agent of LangChain can do with a .mono file."""

from __future__ import annotations

from typing import NoReturn

from langchain_core.tools import BaseTool, BaseToolkit, StructuredTool, ToolException
from pydantic import ConfigDict

from monograph import Monograph
from monograph.shelf import Shelf
from monograph_tools import as_json, offered, wrong_arguments


class MonographToolkit(BaseToolkit):
    """Tools to search, read and look around in a file; an answer is JSON, each text in it with the place it stands in.

    ``outline`` is there where the file has a tree of summaries.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    monograph: Monograph | Shelf
    """An open file or shelf; it stays the caller's to close."""
    notes: bool = False
    """Offer the tools that write: ``add_note``, and ``change_note`` and ``forget_note`` for what that added."""

    def get_tools(self) -> list[BaseTool]:
        """The tools, for an agent. What goes wrong is said to it, with the mend."""
        return [
            StructuredTool.from_function(
                tool.answering(as_json, _failed),
                name=tool.name,
                description=tool.description,
                args_schema=tool.arguments(),
                handle_tool_error=True,
                handle_validation_error=wrong_arguments,
            )
            for tool in offered(self.monograph, notes=self.notes)
        ]


def _failed(said: str) -> NoReturn:
    raise ToolException(said)
