"""Rows of ``settings``: a file's id, the numbers it was built with, and the models that it was made with."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields, replace
from typing import Literal, TypeAlias, TypeVar

from monograph.errors import DamagedFile
from monograph.regex import regex
from monograph.settings import Settings
from monograph.store.file import checksums
from monograph.store.file.database import Connection
from monograph.store.file.errors import decoding, path_of
from monograph.values.arguments import shown

ModelKind: TypeAlias = Literal["embedder", "extractor", "summarizer", "describer"]


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model that a file was made with: the embedder of its vectors, the extractor of its graph, and so on.

    ``dimension`` is that of an embedder's vectors, ``graph`` says how the parts of an extractor's graph were made (see
    graph.GRAPH); both are 0 for other models.
    """

    key: str
    spec: str
    dimension: int = 0
    graph: int = 0


GENERATION = "generation"
"""The setting that counts commits; it has no checksum."""
_SUMMARIES = "summaries"
_AGAIN, _ALWAYS_FORGET = "again", "always_forget"
_PENDING, _FORGOTTEN = "forgetting/", "forgotten"
FOUND_AGAIN = ("id", _SUMMARIES, _AGAIN, _ALWAYS_FORGET, "describer")
"""The settings that may be forgotten: they are made anew, found out by the next sync or repair, or said once more."""
KEPT = ("build", "vector_index", "embedder", "extractor", "summarizer", *FOUND_AGAIN)
"""The settings that have a checksum."""
HINTS = {"extractor": "monograph reextract FILE EXTRACTOR"}
"""What brings a setting back, where a repair does not."""

Stored = TypeVar("Stored", bound="StoredModel | SummaryCounts")
_ID = regex("[0-9a-f]{32}")


def load(connection: Connection) -> Settings | None:
    """Return the settings that a file was built with; None if it was never given any."""
    text = _get(connection, "build")
    with _decoding(connection, "build"):
        return None if text is None else Settings(**json.loads(text))


def save(connection: Connection, settings: Settings) -> None:
    """Store the settings a file is built with."""
    _put(connection, "build", json.dumps(asdict(settings)))


def load_vector_index(connection: Connection) -> str:
    """Return the design of the file's vector indexes: see :class:`monograph.vectors.design.Design`."""
    return _get(connection, "vector_index") or "codes"


def save_vector_index(connection: Connection, kind: str) -> None:
    """Store the design of the file's vector indexes."""
    _put(connection, "vector_index", kind)


def has_graph(connection: Connection) -> bool:
    """Return whether the graph and the trigrams are built with the documents: see ``Settings.graph``."""
    text = _get(connection, "build")
    with _decoding(connection, "build"):
        return text is None or bool(json.loads(text)["graph"])


def set_graph(connection: Connection) -> None:
    """Note that from now on the graph and the trigrams are built with the documents."""
    stored = None if has_graph(connection) else load(connection)
    if stored is not None:
        save(connection, replace(stored, graph=True))


def load_id(connection: Connection) -> str:
    """Return the file's own id; empty if it has none yet."""
    text = _get(connection, "id") or ""
    return text if _ID.fullmatch(text) else ""


def save_id(connection: Connection, identity: str) -> None:
    """Store the file's own id: 32 hex digits."""
    _put(connection, "id", identity)


def load_model(connection: Connection, kind: ModelKind) -> StoredModel | None:
    """Return the model of a kind that the file was made with; None if it holds nothing that was."""
    text = _get(connection, kind)
    if text is None:
        return None
    with _decoding(connection, kind):
        return _typed(StoredModel(**json.loads(text)))


def _typed(stored: Stored) -> Stored:
    """Return a stored value if all its fields have their types. Raises ValueError if one has not."""
    for one in fields(stored):
        value = getattr(stored, one.name)
        if type(value).__name__ != one.type:
            raise ValueError(f"its {one.name} is {shown(value)}")
    return stored


def save_model(connection: Connection, kind: ModelKind, model: StoredModel) -> None:
    """Store the model of a kind that the file is made with."""
    _put(connection, kind, json.dumps(asdict(model)))


@dataclass(frozen=True, slots=True)
class SummaryCounts:
    """Summaries made and tokens spent on them: by the last change of the tree, and ever."""

    last_made: int = 0
    last_tokens: int = 0
    ever_made: int = 0
    ever_tokens: int = 0


def load_summary_counts(connection: Connection) -> SummaryCounts:
    """Return how many summaries were made and tokens spent so far."""
    text = _get(connection, _SUMMARIES)
    with _decoding(connection, _SUMMARIES):
        return SummaryCounts() if text is None else _typed(SummaryCounts(**json.loads(text)))


def count_summaries(connection: Connection, made: int, tokens: int) -> None:
    """Note what a change of the tree took."""
    before = load_summary_counts(connection)
    after = SummaryCounts(made, tokens, before.ever_made + made, before.ever_tokens + tokens)
    _put(connection, _SUMMARIES, json.dumps(asdict(after)))


def documents_again(connection: Connection) -> list[int]:
    """Return the rows of documents whose part of the graph is to be made again, ascending."""
    text = _get(connection, _AGAIN) or "[]"
    with _decoding(connection, _AGAIN):
        return [int(row) for row in json.loads(text)]


def save_documents_again(connection: Connection, rows: Iterable[int]) -> None:
    """Note whose part of the graph is to be made again."""
    _put(connection, _AGAIN, json.dumps(sorted(rows)))


def load_always_forget(connection: Connection) -> bool:
    """Return whether everything that is removed is to be forgotten, without being asked."""
    return _get(connection, _ALWAYS_FORGET) == "yes"


def save_always_forget(connection: Connection, on: bool) -> None:
    """Say whether whatever is taken out is to be forgotten."""
    _put(connection, _ALWAYS_FORGET, "yes" if on else "no")


def _get(connection: Connection, name: str) -> str | None:
    row = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    if row is None and checksums.has(connection, f"settings/{name}"):
        raise DamagedFile(f"{path_of(connection)} is damaged: the setting {name!r} is lost", "restore it from a copy")
    return None if row is None else str(row[0])


def _put(connection: Connection, name: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))
    checksums.put(connection, f"settings/{name}", value)


def generation(connection: Connection) -> int:
    """Return the number that every commit raises, except commits of rows that no search reads.

    What was cached under it is still true while it stands.
    """
    with _decoding(connection, GENERATION):
        return int(_get(connection, GENERATION) or 0)


def count_anew(connection: Connection) -> None:
    """Count commits anew, from a number that stood for no state before, where the number of them is lost."""
    connection.execute("DELETE FROM settings WHERE name = ? AND (value = '' OR value GLOB '*[^0-9]*')", (GENERATION,))
    connection.execute("INSERT OR IGNORE INTO settings VALUES (?, abs(random() / 4))", (GENERATION,))


def _decoding(connection: Connection, name: str) -> AbstractContextManager[None]:
    return decoding(connection, f"the setting {name!r}")


def add_pending_erasure(connection: Connection, token: str) -> None:
    """Note that removed text may be left in the bytes of the file; the token stands for one removal."""
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, '')", (_PENDING + token,))


def pending_erasures(connection: Connection) -> list[str]:
    """Return the tokens of the removals whose text is still to be forgotten, in order."""
    query = "SELECT substr(name, ?) FROM settings WHERE name GLOB ? ORDER BY name"
    return [str(token) for (token,) in connection.execute(query, (len(_PENDING) + 1, f"{_PENDING}*"))]


def drop_pending_erasures(connection: Connection, tokens: Iterable[str]) -> None:
    """Delete the notes of removals whose text is forgotten, or that did not happen."""
    connection.executemany("DELETE FROM settings WHERE name = ?", ((_PENDING + token,) for token in tokens))


def count_of_erasures(connection: Connection) -> int:
    """Return how often the file has dropped what nothing uses."""
    value = _get(connection, _FORGOTTEN) or ""
    return int(value) if value.isdecimal() else 0


def count_erasure(connection: Connection) -> None:
    """Count once more that the file drops what nothing uses."""
    times = count_of_erasures(connection) + 1
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (_FORGOTTEN, str(times)))
