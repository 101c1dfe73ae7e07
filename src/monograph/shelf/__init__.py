"""Many sealed files that are searched as one."""

from monograph.shelf.archive import Archive, is_shelf, only_file, place_of
from monograph.shelf.build import build, forget, remove
from monograph.shelf.engines import local
from monograph.shelf.ray_engine import on_ray
from monograph.shelf.shelf import Shelf, ShelfStats
from monograph.shelf.tasks import Tasks

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
