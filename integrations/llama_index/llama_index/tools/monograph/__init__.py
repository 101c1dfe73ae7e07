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
    """Tools with which an agent searches, reads and explores a file. Replies are JSON, with the source of each text.

    The tools are ``search``, ``read``, ``outline``, ``entity``, ``paths`` and ``stats``. With ``notes=True``, the tools
    ``add_note``, ``change_note`` and ``forget_note`` are added; for a shelf or a snapshot this raises InputError.
    ``outline`` is offered only if the file has a tree of summaries when the tools are created.

    The tools that return texts have the argument ``max_tokens``, which limits the length of the reply. ``left_out`` in
    the reply is the number of texts that did not fit.

    A reply that begins with ``error:`` tells the agent how to correct its call. Errors that an agent cannot correct are
    in the log of ``monograph_tools``. After ``close`` every tool replies with an error.

    Parameters
    ----------
    monograph:
        Path of a file or address of a shelf: the constructor opens it, and ``close`` or the end of a ``with`` block
        closes it. Or an open file, store or shelf, which stays open.
    notes:
        Whether to offer the tools that write notes. ``change_note`` and ``forget_note`` work only on notes that
        ``add_note`` stored.
    key:
        Key of an encrypted file. Give it only with a path.
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
