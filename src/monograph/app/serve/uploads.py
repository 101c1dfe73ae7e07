"""The route that takes files into a folder that is followed."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.app.serve.served import Served
from monograph.sync.receive import Incoming


@dataclass(frozen=True, slots=True)
class Upload:
    """Where a file goes; its bytes are the body.

    Parameters
    ----------
    root:
        Name or place of a folder that is followed.
    name:
        The file's own name: never a path.
    folder:
        Below the root, as ``letters/1963``; empty for the root itself.
    file:
        The file's name.
    """

    root: str
    name: str
    folder: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A file that has been taken; the next sync reads it.

    Parameters
    ----------
    path:
        Where it lies.
    uri:
        That its document will have.
    bytes:
        How many it has.
    """

    path: str
    uri: str
    bytes: int


def upload(served: Served, asked: Upload) -> Incoming:
    """Take a file into a folder that is followed. It is read by the next sync."""
    _, file = served.writable_file(asked.file, "files.receive")
    return file.files.receive(asked.root, asked.name, asked.folder)
