"""The tools for a file, as a framework wants them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_type_hints

from pydantic import BaseModel, create_model

from monograph import Monograph
from monograph.errors import InputError, MonographError
from monograph_tools.faults import for_agents, where
from monograph_tools.notes import Notes
from monograph_tools.tools import Reading

if TYPE_CHECKING:
    from monograph.shelf import Archive

Effect: TypeAlias = Literal["reads", "adds", "takes out"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool for agents.

    Parameters
    ----------
    work:
        What it does; raises MonographError.
    effect:
        What it does to the file.
    archive:
        The file or the shelf.
    """

    work: Callable[..., BaseModel]
    effect: Effect
    archive: Archive

    @property
    def name(self) -> str:
        """What it is called."""
        return self.work.__name__

    @property
    def description(self) -> str:
        """What an agent is told of it."""
        return inspect.getdoc(self.work) or ""

    def arguments(self) -> type[BaseModel]:
        """Its arguments, with what an agent is told of each, and their bounds."""
        hints = get_type_hints(self.work, include_extras=True)
        fields: dict[str, Any] = {
            name: (hints[name], ... if one.default is one.empty else one.default)
            for name, one in inspect.signature(self.work).parameters.items()
        }
        return create_model(self.name, **fields)

    def answering(self, reply: Callable[[BaseModel], Any], failed: Callable[[str], Any]) -> Callable[..., Any]:
        """It as a framework wants it: what it replies, and what comes of an error, which may be another one raised.

        It has the name, docstring and types: schemas are made of them where the names of that module are unknown.
        """

        @functools.wraps(self.work)
        def answered(*arguments: Any, **named: Any) -> Any:
            try:
                return reply(self.work(*arguments, **named))
            except MonographError as error:
                said = for_agents(error, where(self.archive))
            return failed(said)

        answered.__signature__ = inspect.signature(self.work, eval_str=True)  # type: ignore[attr-defined]
        answered.__annotations__ = get_type_hints(self.work, include_extras=True)
        return answered


def offered(archive: Archive, *, notes: bool = False) -> list[Tool]:
    """The tools for a file or a shelf: ``outline`` where it has a tree, and with ``notes`` those that write.

    Raises InputError where notes are asked for in a shelf.
    """
    tools = Reading(archive)
    made = [Tool(one, "reads", archive) for one in (tools.search, tools.read)]
    if archive.brief().has_tree:
        made.append(Tool(tools.outline, "reads", archive))
    made += [Tool(one, "reads", archive) for one in (tools.entity, tools.paths, tools.stats)]
    if notes:
        if not isinstance(archive, Monograph):
            raise InputError(f"{archive.url} is a shelf, which agents only read", "serve it without notes")
        writing = Notes(archive)
        made += [Tool(writing.add_note, "adds", archive)]
        made += [Tool(one, "takes out", archive) for one in (writing.change_note, writing.forget_note)]
    return made


def as_json(reply: BaseModel) -> str:
    """A reply as text."""
    return reply.model_dump_json()
