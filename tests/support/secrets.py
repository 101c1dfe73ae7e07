"""Texts that must be erased, their traces in the bytes of a file, and a key that must not be written."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import pytest

from monograph.errors import InputError

KEY = "correct horse; 'battery' \"staple\" ünd --"
SECRET = "Zanzibar Quixote hid 4711 emeralds beneath Vladivostok while Xylophonia watched. The password is kumquat-998172635."
TRACES = [
    b"zanzibar",
    b"quixote",
    b"emerald",
    b"vladivostok",
    b"xylophonia",
    b"kumquat",
    b"998172635",
    b"anzi",
    b"kumq",
]


def bytes_of(path: Path) -> bytes:
    """Return the bytes of a file and of the files next to it that contain its name, in lower case."""
    return b"".join(one.read_bytes() for one in sorted(path.parent.glob(f"*{path.stem}*"))).lower()


def has_traces(path: Path) -> list[bytes]:
    left = bytes_of(path)
    # Hexadecimal ids may contain the digits of a trace.
    return [trace for trace in TRACES if trace in left and not trace.isdigit()]


def long_traces(path: Path) -> list[bytes]:
    """Return the traces of more than four letters in a file; encrypted bytes may contain shorter ones at random."""
    return [trace for trace in has_traces(path) if len(trace) > 4]


def write_secrets(folder: Path) -> None:
    """Write twenty ordinary notes and two texts with the secret."""
    folder.mkdir(exist_ok=True)
    for number in range(20):
        (folder / f"tea-{number}.txt").write_text(f"Ordinary note {number} about gardens, tea and bicycles.")
    (folder / "secret.txt").write_text(SECRET)
    (folder / "diary.txt").write_text(f"On Monday it rained. {SECRET}")


def assert_not_pickled(holders: list[Any]) -> None:
    """Assert that objects with a key, or with a file that was opened with one, cannot be pickled."""
    for holder in holders:
        for kind in (pickle.Pickler, pickle._Pickler):
            with pytest.raises(InputError, match="cannot be pickled: the pickle would contain its key"):
                kind(io.BytesIO()).dump(holder)
