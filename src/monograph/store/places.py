"""How roots are named, and how their places are written in a file that may move with them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from monograph.values import Root


def owner_of(roots: Iterable[Root], path: str) -> Root | None:
    """The innermost root at or above a path."""
    above = (root for root in roots if root.holds(path))
    return max(above, key=lambda root: len(root.place), default=None)


def unused_name(place: str, taken: Iterable[str]) -> str:
    """A root's name: its folder's, with a number behind it where that is taken."""
    base = place.rstrip("/").rpartition("/")[2] or "root"
    name, number, others = base, 1, set(taken)
    while name in others:
        number += 1
        name = f"{base}-{number}"
    return name


def stored_place(home: str, place: str) -> str:
    """A place as it is stored: where it lies below the file's folder, or below the one above that, relative to it.

    File and folder may then be moved together, to another machine as well.
    """
    relative = os.path.relpath(place, home)
    # In / or /tmp everything lies together, and belongs together by chance.
    at_top = len(Path(home).parts) <= 2
    return place if relative.startswith("../../") or relative == "../.." or at_top else relative
