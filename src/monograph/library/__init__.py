"""The classes that users work with (``Monograph``, views, snapshots) and their parts, which call the other packages."""

from monograph.library.monograph import Monograph
from monograph.library.reader import Reader, Snapshot, View

__all__ = ["Monograph", "Reader", "Snapshot", "View"]
