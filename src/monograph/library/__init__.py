"""The one class users hold, and its parts: they compose, and decide nothing."""

from monograph.library.monograph import Monograph

__all__ = ["Monograph"]
