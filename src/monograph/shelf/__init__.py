"""Many sealed files that are searched as one."""

from monograph.shelf.build import build, forget, remove
from monograph.shelf.engines import local
from monograph.shelf.making import Tasks
from monograph.shelf.ray_engine import on_ray
from monograph.shelf.shelf import Archive, Shelf, ShelfStats, is_shelf, only_file, place_of

__all__ = [
    "Archive",
    "Shelf",
    "ShelfStats",
    "Tasks",
    "build",
    "forget",
    "is_shelf",
    "local",
    "on_ray",
    "only_file",
    "place_of",
    "remove",
]
