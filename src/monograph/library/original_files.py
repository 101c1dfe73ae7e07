"""Original files that documents were read from, and pictures of their pages: ``archive.files``."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from monograph.errors import InputError, SourceMissing
from monograph.explore import lookup
from monograph.library.opened import OpenFile
from monograph.read.file import open_under, sha256_of
from monograph.read.paths import path_to_text, text_to_path
from monograph.store.documents import documents, sources
from monograph.store.file.database import Connection
from monograph.values import arguments

if TYPE_CHECKING:
    from monograph.values import Boxes, Chunk, Original, OriginalState, Root

LEAST_WIDTH, MOST_WIDTH = 50, 3_000
"""Smallest and largest width of a page's picture, in pixels."""


class OriginalFiles:
    """Methods for the original files that documents were read from: the value of :attr:`monograph.Reader.files`."""

    __slots__ = ("_file",)

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    def original(self, name: str) -> Original:
        """Return the state of the file that a document was read from: ``same``, ``changed``, ``gone`` or ``none``.

        ``name`` is the document's id or uri. The state is ``none`` if the document was not read from a file. Raises
        NotFound if there is no such document, or several documents have that uri.
        """
        from monograph.values import Original

        with self._file.database.read() as connection:
            row = lookup.only(connection, name)
            stored = _find_file(connection, row)
            if stored is None:
                return Original("none")
            metadata = documents.load(connection, row).metadata
        source, count, _, path = stored
        state, size = _compare_state(path, source)
        pages = metadata.get("pages")
        return Original(
            state=state,
            path=path_to_text(path),
            name=path_to_text(path.name),
            size=size,
            format=str(metadata.get("format", "")),
            pages=pages if isinstance(pages, int) and pages > 0 else 0,
            part=count > 1 or row.uri != source.uri,
        )

    def open_original(self, name: str) -> BinaryIO:
        """Open the file that a document was read from, to read bytes. The file may have changed in the meantime.

        ``name`` is the document's id or uri. Raises NotFound if there is no such document, or several documents have
        that uri. Raises SourceError if the document was not read from a file, the file is gone, or a link leads out of
        the synced folder. In a view or snapshot, the file must also be unchanged since the document was stored. In a
        view, the file must also have no documents outside of the view.
        """
        return open_under(*_locate(self._file, name))

    def pages(self) -> Pages:
        """Return a renderer of the pages of original PDF files (extra ``documents``). The caller closes it."""
        return Pages(self._file)


class Pages:
    """Renderer of PDF pages in a separate process; a context manager. Safe for use by many threads.

    :meth:`OriginalFiles.pages` returns it.
    """

    def __init__(self, file: OpenFile) -> None:
        from monograph.read.child import ChildPool

        self._file = file
        self._pool = ChildPool()

    def __enter__(self) -> Pages:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the separate process that renders pages."""
        self._pool.close()

    def picture(self, name: str, page: int = 1, width: int = 1_000) -> bytes:
        """Return a page of a document's original PDF as the bytes of a PNG picture.

        ``name`` is the document's id or uri. ``page`` is the number of the page, from 1. ``width`` is the width of the
        picture in pixels, 50 to 3,000; its height follows from the page's shape. Raises NotFound if there is no such
        document or page, SourceError if the file is gone, is not a PDF, or cannot be rendered, and InputError if the
        width is out of range.
        """
        from monograph.read.painting import DrawTask

        if not LEAST_WIDTH <= arguments.whole_number(width, "width") <= MOST_WIDTH:
            raise InputError(f"width is {width}", f"give {LEAST_WIDTH} to {MOST_WIDTH:,}")
        page = arguments.whole_number(page, "page")
        (picture,) = self._pool.call(DrawTask(*_locate(self._file, name), page, width))
        return picture

    def boxes(self, name: str, start: int, end: int, page: int = 0) -> Boxes:
        """Return the rectangles around the text ``document.text[start:end]`` on a page of its PDF, one for each line.

        ``start`` and ``end`` are positions in characters. ``page`` is the number of the page, from 1; 0 means the first
        page of the text. The words of the text are searched in the PDF as it is now. If the page does not contain
        these words, ``found`` in the result is False. ``name`` and errors are as for :meth:`picture`.
        """
        from monograph.read.painting import FindTask, letters
        from monograph.values import Boxes

        with self._file.database.read() as connection:
            document = lookup.document(connection, name)
            chunks = lookup.chunks_of(connection, document.id)
        page = page or next((_page_number(chunk) for chunk in chunks if chunk.end > start), 0)
        # The page's range of the text follows from its chunks: no chunk spans two pages.
        on_page = [chunk for chunk in chunks if _page_number(chunk) == page]
        first = min((chunk.start for chunk in on_page), default=0)
        start, end = max(start, first), min(end, max((chunk.end for chunk in on_page), default=0))
        if not page or start >= end:
            return Boxes(page, found=False)
        before = len(letters(document.text[first:start]))
        task = FindTask(*_locate(self._file, document.id), page, document.text[start:end], before)
        (boxes,) = self._pool.call(task)
        return boxes


def _locate(file: OpenFile, name: str) -> tuple[Path, Root]:
    """Return (path, synced root) of the file that a document was read from."""
    with file.database.read() as connection:
        stored = _find_file(connection, lookup.only(connection, name))
    if stored is not None:
        source, _, root, path = stored
        # In a view or snapshot, the file must be the same as when the document was stored.
        if not file.view or _compare_state(path, source)[0] == "same":
            return path, root
    raise SourceMissing(f"document {name!r} has no file that can be read", "read its stored text")


def _find_file(connection: Connection, row: documents.DocumentRow) -> tuple[sources.SourceRow, int, Root, Path] | None:
    """Return (source file of a document, number of documents read from that file, its synced root, its path)."""
    stored = sources.of_document(connection, row.row)
    if stored is None:
        return None
    source, count = stored
    root = next((root for root in sources.roots(connection) if root.name == source.root), None)
    return None if root is None else (source, count, root, text_to_path(root.path(source.uri)))


def _compare_state(path: Path, source: sources.SourceRow) -> tuple[OriginalState, int]:
    """Compare a file with its stored source: return ("same", "changed" or "gone", present size in bytes; 0 if gone)."""
    try:
        current = path.stat()
    except OSError:
        return "gone", 0
    if not stat.S_ISREG(current.st_mode):
        return "gone", 0
    if (current.st_size, current.st_mtime_ns) == (source.size, source.modified_ns):
        return "same", current.st_size
    same = current.st_size == source.size and sha256_of(path) == source.sha256
    return ("same" if same else "changed"), current.st_size


def _page_number(chunk: Chunk) -> int:
    page = chunk.metadata.get("page", 0)
    return page if isinstance(page, int) else 0
