"""Which engine asks the shards of a version, unless another is chosen: threads here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from monograph.library.opened import Given
from monograph.shelf.engine import Engine, Local
from monograph.shelf.place import Place
from monograph.shelf.versions.manifest import Manifest

Engines: TypeAlias = Callable[[Place, Manifest, Given], Engine]
"""What makes the engine of a version: where the shelf lies, which version, and how its files are opened."""


def local(place: Place, version: Manifest, given: Given) -> Engine:
    """Threads of this process over files of this machine."""
    files = [place.file_of(name) for name in version.shards]
    return Local([replace(given, path=path) for path in files])
