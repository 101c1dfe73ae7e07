"""Error messages for agents: without the file's path, and without commands that an agent cannot run.

An agent whose request is wrong gets the error's own message, because the agent can correct the request. For an error of
the file or of a model, the agent gets a general message, and the error is logged for the operator.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

from monograph import Reader
from monograph.errors import (
    BusyFile,
    ClosedFile,
    InputError,
    ModelError,
    MonographError,
    NotFound,
    ReadOnlyFile,
    StorageFull,
)

if TYPE_CHECKING:
    from monograph.shelf import Archive

_LOG = logging.getLogger(__name__)
_COMMAND = re.compile(r"\b(?:monograph [a-z]+|pip install|python -m|Monograph\.)")

MESSAGES: dict[type[MonographError], str] = {
    BusyFile: "another program is using the file (try again in a minute)",
    ReadOnlyFile: "the file is read-only here (remember it yourself)",
    StorageFull: "there is no room left for the file (continue without writing)",
    ClosedFile: "the file is closed (continue without it)",
    ModelError: 'the model for this cannot be used here (search with how="lexical" needs no model)',
    MonographError: "the file cannot be used in its present state (continue without it)",
}
"""Message to an agent for each kind of error that the agent cannot correct. The first matching kind applies."""


def for_agents(error: MonographError, place: Path | str) -> str:
    """Return the message that an agent gets for an error, without ``place`` (the file's path or shelf's address).

    The hint of the error is added if an agent can follow it.
    """
    if not isinstance(error, InputError):
        _LOG.warning("reported to an agent in other words: %s", error)
        return next(message for kind, message in MESSAGES.items() if isinstance(error, kind))
    message, hint = (_without(place, text) for text in (error.message, error.hint))
    if _COMMAND.search(hint):
        hint = "use search to find documents and names" if isinstance(error, NotFound) else ""
    return f"{message} ({hint})" if hint else message


def where(archive: Archive) -> Path | str:
    """Return the path of a file, or the address of a shelf."""
    return archive.path if isinstance(archive, Reader) else archive.url


def _without(address: Path | str, text: str) -> str:
    spellings = (
        {str(address), str(address.absolute()), str(address.resolve())} if isinstance(address, Path) else {address}
    )
    for spelling in sorted(spellings, key=len, reverse=True):
        text = text.replace(spelling, "the file" if isinstance(address, Path) else "the shelf")
    return text
