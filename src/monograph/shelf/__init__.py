"""Many files answer as one."""

from monograph.shelf.shelf import Shelf, ShelfStats

__all__ = ["Shelf", "ShelfStats"]
