"""What searches read: they leave out a row that cannot be decoded, with a warning that names it, and go on."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator

from monograph.errors import DamagedDocument, DamagedFile, DamageWarning
from monograph.store import chunks as stored
from monograph.store import documents as stored_documents
from monograph.store import extractions, graphs, summary_texts
from monograph.store.database import Connection, decoding
from monograph.values import Extraction, Mention, SummaryText

NOTHING = Extraction()


def warn(error: DamagedFile) -> None:
    """Say what is left out."""
    warnings.warn(f"left out: {error}", DamageWarning, stacklevel=2)


def documents(connection: Connection) -> list[stored_documents.Row]:
    """All documents that can be read, by row number."""
    try:
        return stored_documents.every(connection)
    except DamagedDocument:
        found = []
        for number in stored_documents.numbers(connection):
            try:
                found.append(stored_documents.by_number(connection, number))
            except DamagedDocument as error:
                warn(error)
        return found


def chunks(connection: Connection, rows: Iterable[int]) -> dict[int, stored.Found]:
    """Those of some chunks that can be read, by row number, in the order asked for."""
    asked = list(rows)
    try:
        return {one.row: one for one in stored.load(connection, asked)}
    except DamagedDocument:
        pass  # It is met once more, with those that can be read beside it.
    found = {}
    for row in asked:
        try:
            (found[row],) = stored.load(connection, [row])
        except DamagedDocument as error:
            warn(error)
    return found


def titled_texts(connection: Connection, rows: Iterable[int]) -> list[tuple[str, str]]:
    """(title of the document, text) of chunks by row number, in the order asked for; empty for one that is left out."""
    asked = list(rows)
    try:
        return stored.titled_texts(connection, asked)
    except DamagedDocument:
        pass  # It is met once more, with those that can be read beside it.
    found = []
    for row in asked:
        try:
            found += stored.titled_texts(connection, [row])
        except DamagedDocument as error:
            warn(error)
            found.append(("", ""))
    return found


def named_texts(connection: Connection, rows: Iterable[int]) -> list[tuple[str, str, bytes, str]]:
    """(title of the document, text) of chunks, and the names of each as :func:`graphs.named_and_own` has them.

    In the order asked for; with an empty title and text for one that is left out.
    """
    asked = list(rows)
    try:
        return stored.named_texts(connection, asked)
    except DamagedDocument:
        nodes = graphs.named_and_own(connection, asked)
        texts = titled_texts(connection, asked)
        return [(*one, *nodes.get(row, (b"", "[]"))) for row, one in zip(asked, texts, strict=True)]


def extraction(connection: Connection, chunk: int, value: bytes, text: str) -> Extraction:
    """What was found in a chunk of that text; nothing where that cannot be read."""
    try:
        with decoding(connection, f"what was extracted from row {chunk} of chunks"):
            return extractions.unpack(value, text)
    except DamagedFile as error:
        warn(error)
        return NOTHING


def written(connection: Connection, chunk: int, value: bytes, text: str) -> Iterator[tuple[str, str]]:
    """(name, kind) of each mention that was found in a chunk of that text, as far as that can be read."""
    try:
        with decoding(connection, f"what was extracted from row {chunk} of chunks"):
            yield from extractions.written(value, text)
    except DamagedFile as error:
        warn(error)


def mentions(connection: Connection, chunk: int, value: bytes, text: str, kinds: Collection[str]) -> list[Mention]:
    """The mentions of some kinds that were found in a chunk of that text; none where they cannot be read."""
    try:
        with decoding(connection, f"what was extracted from row {chunk} of chunks"):
            return extractions.mentions(value, text, kinds)
    except DamagedFile as error:
        warn(error)
        return []


def descriptions(connection: Connection, chunk: int, value: bytes) -> list[str]:
    """What a model wrote of what it found in a chunk; nothing where that cannot be read."""
    try:
        with decoding(connection, f"what was extracted from row {chunk} of chunks"):
            return extractions.descriptions(value)
    except DamagedFile as error:
        warn(error)
        return []


def summary(connection: Connection, node: int, value: bytes) -> SummaryText | None:
    """The text of a summary; None where it cannot be read."""
    try:
        with decoding(connection, f"the summary of row {node} of nodes"):
            return summary_texts.unpack(value)
    except DamagedFile as error:
        warn(error)
        return None
