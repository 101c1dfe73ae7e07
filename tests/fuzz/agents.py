"""Random calls by MCP's client: each tool returns a result that fits its schema, or an error text."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from mcp import Client

from fuzz import Case, Draw
from fuzz.requests import CALLS, DEEP, argument, meetings
from monograph import Monograph
from monograph.errors import InputError
from monograph_mcp import make_server
from support.bad_inputs import shown, text, tree

CRASH = re.compile(r"Error executing tool \w*\Z")
"""Error text of the library for an unexpected exception in a tool."""


@contextmanager
def cases(folder: Path) -> Iterator[Draw]:
    """Draw calls, each in a new session."""
    with meetings(folder / "agents.mono") as opened:
        yield partial(_draw, opened)


def _ask(opened: Monograph, name: str, arguments: dict[str, Any], wrong: bool) -> None:
    async def asked() -> Any:
        async with Client(make_server(opened, notes=True)) as client:
            # The client checks the structured answer against the tool's schema.
            return await client.call_tool(name, arguments)

    try:
        # The client cannot write values that JSON or UTF-8 cannot represent, or that are nested too deep.
        said = json.dumps(arguments, allow_nan=False, ensure_ascii=False)
        said.encode()
    except (ValueError, RecursionError) as error:
        raise InputError(f"no JSON: {error}") from None
    if DEEP.search(said):
        raise InputError("nested deeper than the client writes")
    result = asyncio.run(asked())
    if result.is_error:
        said = result.content[0].text
        assert not CRASH.match(said), said
        raise InputError(said)
    assert not wrong, "an unknown argument was ignored"


def _draw(opened: Monograph, chosen: random.Random) -> Case:
    call = chosen.choice(CALLS)
    arguments = {
        key: argument(value, chosen) if chosen.random() < 0.4 else value for key, value in call["arguments"].items()
    }
    wrong = chosen.random() < 0.2
    if wrong:
        arguments[chosen.choice(("filter", "top_k", "self", "archive", "", "x" + text(chosen)))] = tree(chosen)
    return f"{call['name']} {shown(arguments)}", partial(_ask, opened, call["name"], arguments, wrong)
