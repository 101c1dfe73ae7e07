"""Tools over a .mono file for a LangChain agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from langchain_core.tools import BaseTool, BaseToolkit, StructuredTool, ToolException
from pydantic import ConfigDict, PrivateAttr, SecretStr, field_validator

from langchain_monograph.vectorstores import EcoVectorStore
from monograph import Reader
from monograph.shelf import Shelf
from monograph_tools import ClosesFile, FileHandle, archive_of, as_json, offered, wrong_arguments


class MonographToolkit(ClosesFile, BaseToolkit):
    """Tools to search, read and explore a file; they reply in JSON, with the source of each text.

    ``outline`` is offered only if the file has a tree of summaries.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    monograph: Reader | Shelf | EcoVectorStore | Path | str
    """An open file or shelf, or a store over one, which the caller closes; or the path of a file or the address of a
    shelf, which is opened for the tools and closed by :meth:`close`.
    """
    notes: bool = False
    """Offer the tools that write: ``add_note``, and ``change_note`` and ``forget_note`` for notes of ``add_note``."""
    key: SecretStr | None = None
    """Key of an encrypted file; only with a path."""
    _file: FileHandle = PrivateAttr()

    @field_validator("monograph", mode="before")
    @classmethod
    def _as_archive(cls, given: Any) -> Any:
        return archive_of(given)

    def model_post_init(self, context: Any, /) -> None:
        """Create the handle of the file."""
        super().model_post_init(context)
        key = None if self.key is None else self.key.get_secret_value()
        self._file = FileHandle(self.monograph, read_only=not self.notes, key=key)

    def get_tools(self) -> list[BaseTool]:
        """Return the tools for an agent. They return errors to it as text, with their hint."""
        return [
            StructuredTool.from_function(
                tool.answering(as_json, _failed),
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
