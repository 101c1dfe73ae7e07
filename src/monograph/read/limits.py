"""Limits for reading one file."""

from __future__ import annotations

from dataclasses import dataclass, fields

from monograph.values import arguments


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for reading one file.

    Parameters
    ----------
    max_bytes:
        Bytes of the file on disk.
    max_seconds:
        Seconds for reading the file. Text recognition stops somewhat earlier, so that the words already found are kept.
    max_memory:
        Bytes of address space of the process that reads the file.
    max_pages:
        Number of pages, slides, attachments, or files in an archive.
    max_expanded:
        Total bytes of all parts of an archive or an Office file after unpacking.
    max_ratio:
        Ratio of unpacked to packed size, above which a part of an archive is refused.
    max_pixels:
        Pixels (width times height) of an image.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    max_bytes: int = 100_000_000
    max_seconds: float = 120.0
    max_memory: int = 4_000_000_000
    max_pages: int = 20_000
    max_expanded: int = 1_000_000_000
    max_ratio: int = 500
    max_pixels: int = 100_000_000

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if limit.name == "max_seconds":
                checked: float = arguments.seconds(value, limit.name)
            else:
                checked = arguments.whole_number(value, limit.name, 0, arguments.MOST_BYTES)
            object.__setattr__(self, limit.name, checked)


DEFAULT_LIMITS = Limits()
