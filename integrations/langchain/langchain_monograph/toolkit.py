"""Tools over a .mono file for a LangChain agent."""

from __future__ import annotations

from typing import Any, NoReturn

from langchain_core.tools import BaseTool, BaseToolkit, StructuredTool, ToolException
from pydantic import BaseModel

from langchain_monograph.over_file import FileFields
from monograph_tools import FileHandle, offered, wrong_arguments


class MonographToolkit(FileFields, BaseToolkit, extra="forbid"):
    """Tools to search, read and explore a file; they reply in JSON, with the source of each text.

    ``outline`` is offered only if the file has a tree of summaries. After :meth:`close` the tools reply with an error.
    """

    notes: bool = False
    """Offer the tools that write: ``add_note``, and ``change_note`` and ``forget_note`` for notes of ``add_note``."""

    def model_post_init(self, context: Any, /) -> None:
        """Create the handle of the file."""
        super().model_post_init(context)
        self._file = FileHandle(self.monograph, read_only=not self.notes, key=self._secret)

    def get_tools(self) -> list[BaseTool]:
        """Return the tools for an agent. They return errors to it as text, with their hint."""
        return [
            StructuredTool.from_function(
                tool.as_function(BaseModel.model_dump_json, _failed),
                name=tool.name,
                description=tool.description,
                args_schema=tool.arguments(),
                handle_tool_error=True,
                handle_validation_error=wrong_arguments,
            )
            for tool in offered(self._file.monograph, notes=self.notes)
        ]


def _failed(message: str) -> NoReturn:
    raise ToolException(message)
