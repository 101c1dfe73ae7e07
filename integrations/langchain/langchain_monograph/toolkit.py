"""Tools over a .mono file for a LangChain agent."""

from __future__ import annotations

from typing import Any, NoReturn

from langchain_core.tools import BaseTool, BaseToolkit, StructuredTool, ToolException
from pydantic import BaseModel

from langchain_monograph.over_file import FileFields
from monograph_tools import FileHandle, offered, wrong_arguments


class MonographToolkit(FileFields, BaseToolkit, extra="forbid"):
    """Tools with which an agent searches, reads and explores a file. Replies are JSON, with the source of each text.

    The tools are ``search``, ``read``, ``outline``, ``entity``, ``paths`` and ``stats``. With ``notes=True``, the tools
    ``add_note``, ``change_note`` and ``forget_note`` are added; for a shelf or a snapshot this raises InputError.
    ``outline`` is offered only if the file has a summary tree when the tools are created.

    In tools that return texts, the argument ``max_tokens`` limits the length of the reply. ``left_out`` in the reply
    is the number of texts that did not fit. After ``close`` the tools reply with an error.
    """

    notes: bool = False
    """Offer the tools that write notes.

    ``change_note`` and ``forget_note`` work only on notes that ``add_note`` stored.
    """

    def model_post_init(self, context: Any, /) -> None:
        """Create a handle that opens the file at first use."""
        super().model_post_init(context)
        self._file = FileHandle(self.monograph, read_only=not self.notes, key=self._secret)

    def get_tools(self) -> list[BaseTool]:
        """Return the tools for an agent.

        A failed call returns a tool message with the status ``error``. Its text says how to correct the call. Errors
        that an agent cannot correct are in the log of ``monograph_tools``.
        """
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
