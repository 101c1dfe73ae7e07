"""Many files answer as one."""

from monograph.shelf.archive import Archive, is_shelf, only_file, place_of
from monograph.shelf.shelf import Shelf
from monograph.shelf.stats import ShelfStats

__all__ = ["Archive", "Shelf", "ShelfStats", "is_shelf", "only_file", "place_of"]
