"""Tools for a file in the form that frameworks need."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from monograph import Monograph, View
from monograph.errors import InputError, MonographError
from monograph.shelf import place_of
from monograph_tools.faults import for_agents, where
from monograph_tools.notes import Notes
from monograph_tools.tools import Reading

if TYPE_CHECKING:
    from monograph.shelf import Archive

Effect: TypeAlias = Literal["reads", "adds", "takes out"]

MOST_MISTAKES, LONGEST_NAME = 5, 100
"""Limits of an error message: the number of mistakes in it, and the characters of an argument's name."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool for agents."""

    work: Callable[..., BaseModel]
    """The function that does the work; raises MonographError."""
    effect: Effect
    archive: Archive

    @property
    def name(self) -> str:
        """Name of the tool."""
        return self.work.__name__

    @property
    def description(self) -> str:
        """Description of the tool for an agent."""
        return inspect.getdoc(self.work) or ""

    def arguments(self) -> type[BaseModel]:
        """Return a Pydantic model of the tool's arguments, with their descriptions and bounds.

        The model refuses unknown arguments.
        """
        hints = get_type_hints(self.work, include_extras=True)
        fields: dict[str, Any] = {
            name: (hints[name], ... if parameter.default is parameter.empty else parameter.default)
            for name, parameter in inspect.signature(self.work).parameters.items()
        }
        return create_model(self.name, __config__=ConfigDict(extra="forbid"), **fields)

    def as_function(self, reply: Callable[[BaseModel], Any], failed: Callable[[str], Any]) -> Callable[..., Any]:
        """Return the tool as a function for a framework.

        ``reply`` converts the tool's result to the framework's type. ``failed`` converts an error message, or raises an
        exception with it. The function has the tool's name, docstring and evaluated type hints, because frameworks
        derive schemas from these. The function validates its arguments itself, so that all frameworks refuse the same
        arguments with the same messages.
        """
        model = self.arguments()

        @functools.wraps(self.work)
        def call(*arguments: Any, **named: Any) -> Any:
            try:
                validated = model.model_validate({**dict(zip(model.model_fields, arguments, strict=False)), **named})
                return reply(self.work(**{name: getattr(validated, name) for name in validated.model_fields_set}))
            except ValidationError as error:
                message = wrong_arguments(error)
            except MonographError as error:
                message = for_agents(error, where(self.archive))
            return failed(message)

        call.__signature__ = inspect.signature(self.work, eval_str=True)  # type: ignore[attr-defined]
        call.__annotations__ = get_type_hints(self.work, include_extras=True)
        return call


def offered(archive: Archive, *, notes: bool = False) -> list[Tool]:
    """Return the tools for a file or shelf. ``outline`` is among them only if the file has a tree of summaries.

    ``notes`` is whether to add the tools that write notes.

    Raises InputError if notes are requested for a shelf or a snapshot.
    """
    tools = Reading(archive)
    reading: list[Callable[..., BaseModel]] = [tools.search, tools.read, tools.entity, tools.paths, tools.stats]
    if archive.brief().has_tree:
        reading.insert(2, tools.outline)
    offers = [Tool(method, "reads", archive) for method in reading]
    if notes:
        if not isinstance(archive, Monograph | View):
            kind = type(archive).__name__.lower()
            raise InputError(f"{place_of(archive)} is a {kind}, which agents can only read", "serve it without notes")
        writing = Notes(archive)
        offers.append(Tool(writing.add_note, "adds", archive))
        offers += [Tool(method, "takes out", archive) for method in (writing.change_note, writing.forget_note)]
    return offers


def wrong_arguments(error: ValidationError) -> str:
    """Return a message for an agent that names each wrong argument of a tool call, and says what is wrong with it."""
    errors = error.errors()
    messages = [
        f"{'.'.join(map(str, item['loc']))[:LONGEST_NAME]!r}: "
        + ("there is no such argument" if item["type"] == "extra_forbidden" else item["msg"])
        for item in errors[:MOST_MISTAKES]
    ]
    return "; ".join(messages) + (f"; and {len(errors) - MOST_MISTAKES} more" if len(errors) > MOST_MISTAKES else "")
