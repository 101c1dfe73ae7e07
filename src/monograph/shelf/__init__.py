"""Shelf: many sealed files that are searched as one. A sealed file is never changed, only replaced as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.lazy import lazy_names

_MODULES = {
    "monograph.shelf.building": "build forget remove",
    "monograph.shelf.either": "is_shelf only_file place_of to_write whole_file",
    "monograph.shelf.engines": "local",
    "monograph.shelf.ray_engine": "OnRay Tasks",
    "monograph.shelf.shelf": "Archive Shelf",
    "monograph.values.state": "ShelfStats",
}
__all__ = [name for names in _MODULES.values() for name in names.split()]

if TYPE_CHECKING:
    from monograph.shelf.building import build as build
    from monograph.shelf.building import forget as forget
    from monograph.shelf.building import remove as remove
    from monograph.shelf.either import is_shelf as is_shelf
    from monograph.shelf.either import only_file as only_file
    from monograph.shelf.either import place_of as place_of
    from monograph.shelf.either import to_write as to_write
    from monograph.shelf.either import whole_file as whole_file
    from monograph.shelf.engines import local as local
    from monograph.shelf.ray_engine import OnRay as OnRay
    from monograph.shelf.ray_engine import Tasks as Tasks
    from monograph.shelf.shelf import Archive as Archive
    from monograph.shelf.shelf import Shelf as Shelf
    from monograph.values.state import ShelfStats as ShelfStats
else:
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
