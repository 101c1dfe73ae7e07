"""One pass over a text in C++: tokens, words, sentences, chunks, names; absent where nothing could be compiled.

All it does is done in Python too, where the thing is at home: the twin, which gives the same results to the bit, takes
the texts that the pass leaves to it, and every text where :data:`compiled` is None.
"""

from __future__ import annotations

import unicodedata

try:
    from monograph.text_pass import _text_pass as compiled
except ImportError:
    compiled = None  # type: ignore[assignment]
else:
    if compiled.unicode_version() != unicodedata.unidata_version:
        # Built by one Python and run by another, it would not know the same characters as its twin.
        compiled = None  # type: ignore[assignment]

__all__ = ["compiled"]
