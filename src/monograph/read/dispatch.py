"""Which reader reads which format."""

from __future__ import annotations

import importlib
from typing import cast

from monograph.errors import MonographError, SourceDamaged
from monograph.read.detect import HEAD_BYTES, Format, detect
from monograph.read.source import Items, Opened, Reader

_READERS: dict[Format, tuple[str, str]] = {
    "text": ("text", "read_text"), "markdown": ("text", "read_markdown"), "jsonl": ("text", "read_rows"),
    "json": ("records", "read_json"), "yaml": ("records", "read_yaml"), "table": ("table", "read_table"),
    "code": ("code", "read_code"), "html": ("web", "read_html"), "email": ("mail", "read_email"),
    "msg": ("mail", "read_msg"), "rtf": ("rtf", "read_rtf"), "pdf": ("pdf", "read_pdf"),
    "image": ("image", "read_image"), "docx": ("word", "read_docx"), "pptx": ("slides", "read_pptx"),
    "xlsx": ("sheets", "read_xlsx"), "xls": ("sheets", "read_others"), "ods": ("sheets", "read_others"),
    "odt": ("opendocument", "read_odt"), "odp": ("opendocument", "read_odp"), "epub": ("epub", "read_epub"),
    "archive": ("archive", "read_archive"),
}  # fmt: skip

HARMLESS: frozenset[Format] = frozenset({"text", "markdown", "jsonl"})
"""Formats whose readers neither hang nor crash, and need not be watched."""


def read(opened: Opened) -> Items:
    """Read bytes of any format.

    Raises
    ------
    SourceError
        If nothing of them can be read. Whatever a parser raises over broken bytes becomes SourceDamaged.
    """
    form = detect(opened.data[:HEAD_BYTES], opened.address.path)
    try:
        if form in ("zip", "ole"):
            from monograph.read import package

            form = package.look_inside(opened, form)
        # The reader of a format; its module is imported now.
        module, name = _READERS[form]
        yield from cast(Reader, getattr(importlib.import_module(f"monograph.read.{module}"), name))(opened)
    except (MonographError, MemoryError):
        raise
    except RecursionError as error:
        raise SourceDamaged("it is nested too deeply", "save it anew") from error
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        raise SourceDamaged(
            f"it cannot be read as {form}: {type(error).__name__}{': ' if said else ''}{said}", "save it anew"
        ) from error
