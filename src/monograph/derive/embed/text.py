"""What is embedded for a chunk: its text under what it stands under."""

from __future__ import annotations

from monograph.values import Metadata


def embedded_text(title: str, metadata: Metadata, text: str) -> str:
    """What is embedded for a chunk: its document's title, the headings it lies under, its table's columns, its text."""
    above = [title]
    section = str(metadata.get("section", ""))
    if section and not text.startswith(section.rpartition(" > ")[2]):
        above.append(section.removeprefix(f"{title} > ") if section != title else "")
    above.append(str(metadata.get("columns", "")))
    return "\n".join([*(one for one in above if one), text])
