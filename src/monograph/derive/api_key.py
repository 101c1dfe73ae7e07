"""The key for a server that a file or a command names, out of the environment; it is stored nowhere."""

from __future__ import annotations

import os

VARIABLE = "MONOGRAPH_API_KEY"
"""The environment variable that holds the key for whichever server is asked."""


def key_hint(part: str) -> str:
    """Return what to do if the server of an ``embedder`` or a ``reranker`` refuses its key."""
    return f"put the server's key into the variable {_variable_of(part)}, or {VARIABLE}"


def api_key_of(part: str, given: str = "") -> str:
    """The key for the server of an ``embedder`` or a ``reranker``; empty for none.

    One that is given counts, unless it comes from the environment itself, as a command's option may. Then the kind's
    own variable counts, even where it is empty: so a server that asks for no key is sent none.
    """
    common = os.environ.get(VARIABLE, "")
    if given and given != common:
        return given
    own = os.environ.get(_variable_of(part))
    return common if own is None else own


def _variable_of(part: str) -> str:
    """The variable that holds the key of one kind of model alone: ``MONOGRAPH_EMBEDDER_API_KEY`` of an embedder."""
    return f"MONOGRAPH_{part.upper()}_API_KEY"
