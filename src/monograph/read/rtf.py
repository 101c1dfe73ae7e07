"""RTF by striprtf."""

from __future__ import annotations

from monograph.read.compose import Composer
from monograph.read.source import Items, Opened, missing
from monograph.values import Problem


def read_rtf(opened: Opened) -> Items:
    """The text of an RTF file."""
    try:
        from striprtf.striprtf import rtf_to_text
    except ImportError as error:
        raise missing("an RTF file", "documents", error) from error
    composer = Composer()
    # RTF is ASCII; what is not, is written in it as escapes.
    text: str = rtf_to_text(opened.data.decode("cp1252", "replace"), errors="replace")  # type: ignore[no-untyped-call]
    for paragraph in text.split("\n"):
        composer.add(paragraph)
    document = composer.document(opened, opened.metadata("rtf"))
    yield document if document is not None else Problem(opened.address.uri, "it has no text: nothing to index")
