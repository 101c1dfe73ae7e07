"""Compiled scanner of texts: finds tokens, words, sentences and names in one pass (C++)."""

from __future__ import annotations

import unicodedata

_INSTALL = "install a wheel for this Python, or build for it: pip install --force-reinstall --no-cache-dir monograph"

try:
    from monograph.text_pass import _text_pass as compiled
except ImportError as error:
    raise ImportError(
        f"the compiled module monograph.text_pass._text_pass cannot be loaded ({error}): {_INSTALL}"
    ) from error
if compiled.unicode_version() != unicodedata.unidata_version:
    raise ImportError(
        f"monograph.text_pass was compiled for Unicode {compiled.unicode_version()}, and this Python has "
        f"{unicodedata.unidata_version}: {_INSTALL}"
    )

__all__ = ["compiled"]
