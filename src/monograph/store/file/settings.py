"""Rows of ``settings``: a file's id, the options and models that the file was built with, and counters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import Literal, TypeAlias, TypeVar

from monograph.errors import DamagedFile
from monograph.regex import regex
from monograph.settings import Settings
from monograph.store.file import checksums
from monograph.store.file.database import Connection
from monograph.store.file.errors import decoding, path_of
from monograph.store.file.rows import column, scalar
from monograph.values.arguments import shown

ModelKind: TypeAlias = Literal["embedder", "extractor", "summarizer", "describer"]


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model that a file was built with, for example the embedder of its vectors or the extractor of its graph.

    ``dimension`` is the number of values of an embedder's vectors; 0 for other models. ``graph`` is the version of the
    rules by which the graph was built from an extractor's results (see ``monograph.graph.GRAPH``); 0 for other models.
    """

    key: str
    spec: str
    dimension: int = 0
    graph: int = 0


GENERATION = "generation"
"""Name of the setting that :func:`generation` reads. It has no checksum."""
_SUMMARIES = "summaries"
_TO_REBUILD, _ALWAYS_FORGET = "again", "always_forget"
_PENDING, _FORGOTTEN = "forgetting/", "forgotten"
FOUND_AGAIN = ("id", _SUMMARIES, _TO_REBUILD, _ALWAYS_FORGET, "describer")
"""Names of the settings that may be lost: Monograph creates each of them again, or the user sets it again."""
KEPT = ("build", "vector_index", "embedder", "extractor", "summarizer", *FOUND_AGAIN)
"""Names of the settings that have a checksum."""
HINTS = {"extractor": "monograph reextract FILE EXTRACTOR"}
"""Commands that restore settings which a repair cannot restore, by name of the setting."""

T = TypeVar("T")
Stored = TypeVar("Stored", bound="StoredModel | SummaryCounts")
_ID = regex("[0-9a-f]{32}")


def load(connection: Connection) -> Settings | None:
    """Return the settings that a file was built with; None if none are stored."""
    return _load(connection, "build", lambda text: Settings(**json.loads(text)), None)


def save(connection: Connection, settings: Settings) -> None:
    """Store the settings that a file is built with."""
    _put(connection, "build", json.dumps(asdict(settings)))


def load_vector_index(connection: Connection) -> str:
    """Return the design of the vector indexes: ``codes`` or ``graph`` (:class:`monograph.vectors.design.Design`)."""
    return _get(connection, "vector_index") or "codes"


def save_vector_index(connection: Connection, kind: str) -> None:
    """Store the design of the vector indexes: ``codes`` or ``graph``."""
    _put(connection, "vector_index", kind)


def has_graph(connection: Connection) -> bool:
    """Return ``Settings.graph``: whether the graph and the trigrams are built when documents are stored.

    Returns True if no settings are stored.
    """
    return _load(connection, "build", lambda text: bool(json.loads(text)["graph"]), default=True)


def set_graph(connection: Connection) -> None:
    """Set ``Settings.graph``: from now on the graph and the trigrams are built when documents are stored."""
    stored = None if has_graph(connection) else load(connection)
    if stored is not None:
        save(connection, replace(stored, graph=True))


def load_id(connection: Connection) -> str:
    """Return the file's own id, 32 hex digits; empty if no valid id is stored."""
    text = _get(connection, "id") or ""
    return text if _ID.fullmatch(text) else ""


def save_id(connection: Connection, identity: str) -> None:
    """Store the file's own id: 32 hex digits."""
    _put(connection, "id", identity)


def load_model(connection: Connection, kind: ModelKind) -> StoredModel | None:
    """Return the file's embedder, extractor, summarizer or describer, as stored; None if none is stored."""
    return _load(connection, kind, lambda text: _require_types(StoredModel(**json.loads(text))), None)


def _require_types(stored: Stored) -> Stored:
    """Return a stored value unchanged if each of its fields has the declared type. Raises ValueError otherwise."""
    for field in fields(stored):
        value = getattr(stored, field.name)
        if type(value).__name__ != field.type:
            raise ValueError(f"its {field.name} has the wrong type: {shown(value)}")
    return stored


def save_model(connection: Connection, kind: ModelKind, model: StoredModel) -> None:
    """Store the file's embedder, extractor, summarizer or describer."""
    _put(connection, kind, json.dumps(asdict(model)))


@dataclass(frozen=True, slots=True)
class SummaryCounts:
    """Number of summaries that were made, and number of tokens that models took for them.

    ``last_`` counts belong to the last change of the tree. ``ever_`` counts are totals over all changes.
    """

    last_made: int = 0
    last_tokens: int = 0
    ever_made: int = 0
    ever_tokens: int = 0


def load_summary_counts(connection: Connection) -> SummaryCounts:
    """Return the numbers of summaries made and of tokens spent on them; all are 0 if none are stored."""
    default = SummaryCounts()
    return _load(connection, _SUMMARIES, lambda text: _require_types(SummaryCounts(**json.loads(text))), default)


def count_summaries(connection: Connection, made: int, tokens: int) -> None:
    """Add to the stored counts the numbers of summaries made and of tokens spent in one change of the tree."""
    before = load_summary_counts(connection)
    after = SummaryCounts(made, tokens, before.ever_made + made, before.ever_tokens + tokens)
    _put(connection, _SUMMARIES, json.dumps(asdict(after)))


def documents_to_rebuild(connection: Connection) -> list[int]:
    """Return the rows of the documents whose part of the graph must be built again, ascending."""
    return _load(connection, _TO_REBUILD, lambda text: [int(row) for row in json.loads(text or "[]")], [])


def save_documents_to_rebuild(connection: Connection, rows: Iterable[int]) -> None:
    """Store the rows of the documents whose part of the graph must be built again.

    The given rows replace the previously stored rows.
    """
    _put(connection, _TO_REBUILD, json.dumps(sorted(rows)))


def load_always_forget(connection: Connection) -> bool:
    """Return whether, by default, every removal also erases the removed text from the bytes of the file."""
    return _get(connection, _ALWAYS_FORGET) == "yes"


def save_always_forget(connection: Connection, on: bool) -> None:
    """Store whether, by default, every removal also erases the removed text from the bytes of the file."""
    _put(connection, _ALWAYS_FORGET, "yes" if on else "no")


def _load(connection: Connection, name: str, decode: Callable[[str], T], default: T) -> T:
    """Return the decoded value of a setting, or the default if it is not stored."""
    text = _get(connection, name)
    with decoding(connection, f"the setting {name!r}"):
        return default if text is None else decode(text)


def _get(connection: Connection, name: str) -> str | None:
    value = scalar(connection, "SELECT value FROM settings WHERE name = ?", name)
    if value is not None:
        return str(value)
    if scalar(connection, "SELECT 1 FROM checksums WHERE name = ?", f"settings/{name}") is not None:
        raise DamagedFile(
            f"{path_of(connection)} is damaged: the setting {name!r} is missing", "restore it from a copy"
        )
    return None


def _put(connection: Connection, name: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))
    checksums.put(connection, f"settings/{name}", value)


def generation(connection: Connection) -> int:
    """Return the generation of the file, a counter. Each commit that may change search results increments the counter.

    Other commits leave the generation unchanged. Values that were cached under a generation stay valid until the
    generation changes.
    """
    with decoding(connection, f"the setting {GENERATION!r}"):
        return int(_get(connection, GENERATION) or 0)


def add_pending_erasure(connection: Connection, token: str) -> None:
    """Record that removed text may still be in the bytes of the file. ``token`` identifies the removal."""
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, '')", (_PENDING + token,))


def pending_erasures(connection: Connection) -> list[str]:
    """Return the tokens of the removals whose text is still to be erased, ascending."""
    query = "SELECT substr(name, ?) FROM settings WHERE name GLOB ? ORDER BY name"
    return column(connection, query, len(_PENDING) + 1, f"{_PENDING}*")


def drop_pending_erasures(connection: Connection, tokens: Iterable[str]) -> None:
    """Delete the records that :func:`add_pending_erasure` stored for the given tokens.

    Call this function when the text of the removals was erased, or when the removals did not happen.
    """
    connection.executemany("DELETE FROM settings WHERE name = ?", ((_PENDING + token,) for token in tokens))


def count_of_erasures(connection: Connection) -> int:
    """Return how many times unused data was erased from the bytes of the file."""
    value = _get(connection, _FORGOTTEN) or ""
    return int(value) if value.isdecimal() else 0


def count_erasure(connection: Connection) -> None:
    """Add one to the stored number of erasures."""
    times = str(count_of_erasures(connection) + 1)
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (_FORGOTTEN, times))
