"""ZIP archives: reads the files in an archive. An archive inside another archive is not opened."""

from __future__ import annotations

import zipfile
import zlib

from monograph.errors import SourceError, UnknownFormat
from monograph.read.file import read
from monograph.read.package import unpacked
from monograph.read.source import Items, SourceFile, problem_of
from monograph.regex import regex
from monograph.values import Problem

_LEADS_OUT = regex(r"^[/\\]|^\w:|(?:^|[/\\])\.\.(?:[/\\]|$)")
_HIDDEN = regex(r"(?:^|/)(?:\.(?!\.)|__MACOSX/|Thumbs\.db$|desktop\.ini$)")


def read_archive(opened: SourceFile) -> Items:
    """Yield the documents of every file in an archive, and a problem for each file that cannot be read.

    Hidden files are skipped. Nothing is written to disk. A file whose name leads out of the archive's folder, such as
    ``../name``, is not read, and gives a problem.
    """
    if opened.depth:
        raise UnknownFormat("an archive within another file, which is not opened", "unpack it")
    with unpacked(opened) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir() and not _HIDDEN.search(entry.filename)]
        opened.check_pages(len(entries), "files")
        for entry in entries:
            opened.check_time()
            address = opened.address.inside(entry.filename)
            if _LEADS_OUT.search(entry.filename):
                yield Problem(
                    opened.address.uri,
                    f"its file {entry.filename!r} would be placed outside the archive",
                    "do not trust it",
                )
                continue
            if entry.flag_bits & 1:
                yield Problem(address.uri, "it is encrypted", "unpack it")
                continue
            if entry.file_size > opened.limits.max_bytes:
                yield Problem(
                    address.uri, f"it has {entry.file_size:,} bytes, more than the limit", "give a higher --max-bytes"
                )
                continue
            try:
                yield from read(opened.inside(entry.filename, archive.read(entry)))
            except SourceError as error:
                yield problem_of(address.uri, error)
            except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError) as error:
                yield Problem(address.uri, f"it cannot be unpacked: {error}", "pack it again")
