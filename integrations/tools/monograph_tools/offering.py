"""The tools for a file, as a framework wants them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias, get_type_hints

from pydantic import BaseModel

from monograph import Monograph
from monograph.errors import MonographError
from monograph_tools.tools import Tools, has_tree

Tool: TypeAlias = Callable[..., BaseModel]


def offered(monograph: Monograph, *, notes: bool = False) -> list[Tool]:
    """The tools for a file: ``outline`` where it has a tree, and with ``notes`` the one that writes."""
    tools = Tools(monograph)
    found: list[Tool] = [tools.search, tools.read, tools.entity, tools.paths, tools.stats]
    if has_tree(monograph):
        found.insert(2, tools.outline)
    return [*found, tools.add_note] if notes else found


def reads(tool: Tool) -> bool:
    """Whether a tool leaves the file as it is."""
    return tool.__name__ != Tools.add_note.__name__


def answering(
    tool: Tool, reply: Callable[[BaseModel], Any], failed: Callable[[MonographError], Any]
) -> Callable[..., Any]:
    """A tool as a framework wants it: what it replies, and what comes of an error, which may be another error raised.

    It has the tool's name, docstring and types: schemas are made of them where the names of that module are unknown.
    """

    @functools.wraps(tool)
    def answered(*arguments: Any, **named: Any) -> Any:
        try:
            return reply(tool(*arguments, **named))
        except MonographError as error:
            return failed(error)

    answered.__signature__ = inspect.signature(tool, eval_str=True)  # type: ignore[attr-defined]
    answered.__annotations__ = get_type_hints(tool, include_extras=True)
    return answered


def as_json(reply: BaseModel) -> str:
    """A reply as text."""
    return reply.model_dump_json()
