"""Tools over a .mono file for a LlamaIndex agent."""

from __future__ import annotations

from monograph.lazy import requires

with requires("LlamaIndex", "llama-index", __name__):
    from llama_index.core.tools import FunctionTool, ToolMetadata
    from llama_index.core.tools.tool_spec.base import SPEC_FUNCTION_TYPE, BaseToolSpec

from pydantic import BaseModel

from monograph_tools import AnyArchive, ClosesFile, FileHandle, offered

__all__ = ["MonographToolSpec"]


class MonographToolSpec(ClosesFile, BaseToolSpec):
    """Tools to search, read and explore a file; they reply in JSON, with the source of each text.

    Errors are returned to the agent as text, with a hint. The agent's question is passed to the file unchanged. The
    tool ``outline`` is offered only if the file has a tree of summaries. After :meth:`close` every tool replies with an
    error.

    Parameters
    ----------
    monograph, key:
        The file or shelf: see :class:`monograph_tools.FileHandle`. A path is opened here.
    notes:
        Whether to offer the tools that write: ``add_note``, and ``change_note`` and ``forget_note``, which work only on
        notes that ``add_note`` stored.
    """

    def __init__(self, monograph: AnyArchive, *, notes: bool = False, key: str | None = None) -> None:
        self._file = FileHandle(monograph, read_only=not notes, key=key)
        self._tools = {tool.name: tool for tool in offered(self._file.monograph, notes=notes)}
        self.spec_functions = list(self._tools)
        for name, tool in self._tools.items():
            setattr(self, name, tool.as_function(BaseModel.model_dump_json, "error: {}".format))

    def to_tool_list(
        self,
        spec_functions: list[SPEC_FUNCTION_TYPE] | None = None,
        func_to_metadata_mapping: dict[str, ToolMetadata] | None = None,
    ) -> list[FunctionTool]:
        """Return the tools for an agent; parameters as for LlamaIndex's ``BaseToolSpec``."""
        # By default LlamaIndex would describe the tools by their Python signatures.
        metadata = {
            name: ToolMetadata(name=name, description=tool.description, fn_schema=tool.arguments())
            for name, tool in self._tools.items()
        }
        return list(super().to_tool_list(spec_functions, {**metadata, **(func_to_metadata_mapping or {})}))
