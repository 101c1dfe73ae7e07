"""The classes that users hold, and their parts: they compose, and decide nothing."""

from monograph.library.monograph import Monograph
from monograph.library.reader import Reader, Snapshot, View

__all__ = ["Monograph", "Reader", "Snapshot", "View"]
