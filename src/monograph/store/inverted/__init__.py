"""The pages of SQLite's inverted index read in C++, and BM25 over them; absent where nothing could be compiled.

What it does FTS5 does too, row by row: that is the twin, which gives the same results to the bit, and takes every file
whose pages are not as they are known here.
"""

from __future__ import annotations

try:
    from monograph.store.inverted import _inverted as compiled
except ImportError:
    compiled = None  # type: ignore[assignment]

__all__ = ["compiled"]
