"""Tools over a .mono file for an agent of LlamaIndex."""

from __future__ import annotations

from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.tools.tool_spec.base import SPEC_FUNCTION_TYPE, BaseToolSpec

from monograph_tools import ClosesFile, FileHandle, Given, as_json, offered


class MonographToolSpec(ClosesFile, BaseToolSpec):
    """Tools to search, read and look around in a file; an answer is JSON, each text in it with the place it stands in.

    What goes wrong is said to the agent, with the hint. The question reaches the file as the agent wrote it.
    ``outline`` is there where the file has a tree of summaries.

    Parameters
    ----------
    monograph:
        An open file or shelf, or a store over one, which stays the caller's to close; or the path of a file or the
        address of a shelf, which is opened here and closed by :meth:`close`.
    notes:
        Offer the tools that write: ``add_note``, and ``change_note`` and ``forget_note`` for what that added.
    key:
        Of an encrypted file; with a path only.
    """

    def __init__(self, monograph: Given, *, notes: bool = False, key: str | None = None) -> None:
        self._file = FileHandle(monograph, read_only=not notes, key=key)
        self._tools = {tool.name: tool for tool in offered(self._file.open(), notes=notes)}
        self.spec_functions = list(self._tools)
        for name, tool in self._tools.items():
            setattr(self, name, tool.answering(as_json, _said))

    def close(self) -> None:
        """Close the file if it was given as a path: the tools then answer with an error."""
        self._file.close()

    def to_tool_list(
        self,
        spec_functions: list[SPEC_FUNCTION_TYPE] | None = None,
        func_to_metadata_mapping: dict[str, ToolMetadata] | None = None,
    ) -> list[FunctionTool]:
        """The tools, for an agent; parameters as for LlamaIndex's ``BaseToolSpec``."""
        # Else it would be told their signatures in Python.
        described = {
            name: ToolMetadata(name=name, description=tool.description, fn_schema=tool.arguments())
            for name, tool in self._tools.items()
        }
        return list(super().to_tool_list(spec_functions, {**described, **(func_to_metadata_mapping or {})}))


def _said(fault: str) -> str:
    return f"error: {fault}"
