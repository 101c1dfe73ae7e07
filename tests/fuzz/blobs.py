"""Files with changed rows and mostly correct checksums: operations may only return or raise MonographError."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from fuzz import Case, Draw
from monograph import Document, Monograph
from monograph.derive.loading import load_summarizer
from monograph.errors import MonographError
from monograph.store.documents import documents
from monograph.store.file import checksums
from monograph.store.file.errors import sqlite_errors
from monograph.vectors import kernel
from monograph.vectors.design import Design
from support.answering import Whole
from support.bad_inputs import altered, changed, number, scalar, text, written
from support.models import HashEmbedder
from support.raw_sql import connected

NAMES = ("Anna Calder", "Tobias Renk", "Ines Okafor", "Mrs Grubb", "Vienna", "Salzburg", "Riga", "INV-2024")
SAID = "Anna Calder met Ines Okafor [1]."
SHADOWS = ("words_", "trigrams_", "sqlite_", "vocabulary")
"""Prefixes of tables that only SQLite reads, so that SQLite reports their faults."""


def base(folder: Path) -> Path:
    """Create a file with rows in all tables: sources, tree, cluster graphs, answer, failures, names kept apart."""
    path = folder / "base.mono"
    texts = folder / "texts"
    texts.mkdir()
    for at in range(6):
        (texts / f"{at}.md").write_text(
            f"# Part {at}\n\n## Of {NAMES[at]}\n\n{NAMES[at]} went to {NAMES[at + 1]}.\n" * 3
        )
    (texts / "broken.pdf").write_bytes(b"%PDF-1.7\nbroken")
    said = [
        Document(
            f"{NAMES[at % 8]} ({NAMES[at % 5]}'s friend) met {NAMES[(at * 3 + 1) % 8]} in harbour {at}. {NAMES[at % 3]} left.",
            id=f"d{at}", title=NAMES[at % 8], metadata={"year": at, "tags": ["a", NAMES[at % 8]], "deep": {"at": at}},
        )
        for at in range(60)
    ]  # fmt: skip
    with Monograph.open(path, HashEmbedder(16), summarizer=load_summarizer("extractive"), model=Whole(SAID, 9)) as made:
        made._file.chunk_index.design = Design("graph", 8, links=4, ef_construction=20)
        made.sync(texts)
        made.add(said)
        made.remove(["d3", "d9"])
        made.graph.keep_apart("Anna Calder", "Ines Okafor")
        made.ask("whom did Anna Calder meet?")
    with closing(connected(path)) as connection:
        # A small file has too few centroids for a graph, so this builds one.
        for space, body in connection.execute("SELECT space, body FROM centroids").fetchall():
            graph = kernel.graph_insert(body, None, m=4, ef=20, alpha=1.0)
            connection.execute("UPDATE centroids SET graph = ? WHERE space = ?", (graph, space))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    return path


@contextmanager
def cases(folder: Path) -> Iterator[Draw]:
    """Draw changed copies, and operations on them."""
    path = base(folder)

    def draw(chosen: random.Random) -> Case:
        copy = folder / "changed.mono"
        for name in ("", "-wal", "-shm"):
            copy.with_name(copy.name + name).unlink(missing_ok=True)
        shutil.copyfile(path, copy)
        return str(strike(copy, chosen)), partial(ask, copy, chosen, folder)

    yield draw


def strike(path: Path, chosen: random.Random) -> list[str]:
    """Change some values; return descriptions of the changes."""
    done: list[str] = []
    with closing(connected(path)) as connection:
        connection.create_function("casefold", 1, lambda one: one)
        connection.execute("PRAGMA trusted_schema = ON")
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            if not name.startswith(SHADOWS) and name not in ("words", "trigrams")
        ]  # fmt: skip
        for _ in range(chosen.choice((1, 1, 1, 2, 4))):
            with suppress(*sqlite_errors(), OverflowError, UnicodeEncodeError):
                done.append(_strike_row(connection, chosen.choice(tables), chosen))
        if chosen.random() < 0.85:
            seal(connection)
    return done


def _strike_row(connection: sqlite3.Connection, table: str, chosen: random.Random) -> str:
    rows = connection.execute(f"SELECT * FROM {table}").fetchall()
    if not rows:
        return f"{table} is empty"
    columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
    row = chosen.choice(rows)
    where = " AND ".join(f'"{name}" IS ?' for name in columns)
    kind = chosen.randrange(10)
    if kind == 0:
        connection.execute(f"DELETE FROM {table} WHERE {where}", row)
        return f"deleted {_short(row)} of {table}"
    if kind == 1:
        made = [chosen.choice(rows)[place] if chosen.random() < 0.5 else value for place, value in enumerate(row)]
        made[0] = _other(made[0], chosen)
        marks = ",".join("?" * len(row))
        connection.execute(f"INSERT INTO {table} VALUES ({marks})", made)
        return f"added {_short(made)} to {table}"
    # Prefer blobs: they are the most valuable targets.
    blobs = [place for place, value in enumerate(row) if isinstance(value, bytes) and len(value) > 8]
    place = chosen.choice(blobs) if blobs and chosen.random() < 0.7 else chosen.randrange(len(row))
    other = chosen.choice(rows)[place] if kind == 2 else _other(row[place], chosen)
    connection.execute(f'UPDATE {table} SET "{columns[place]}" = ? WHERE {where}', (other, *row))
    return f"{table}.{columns[place]} of {_short(row)} is {_short((other,))}"


def _short(row: Any) -> str:
    return ", ".join(repr(value)[:60] for value in row)


def _other(value: Any, chosen: random.Random) -> Any:
    """Return a replacement of a value, mostly of the same type."""
    if chosen.random() < 0.1:
        drawn = chosen.choice((None, number(chosen), text(chosen), chosen.randbytes(chosen.randrange(40))))
        return drawn if not isinstance(drawn, int) or abs(drawn) < 2**63 else float(2**63)
    if isinstance(value, bytes | str):
        data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        with suppress(ValueError, UnicodeDecodeError, RecursionError):
            held = json.loads(data)
            if chosen.random() < 0.85:
                made = written(altered(held, chosen))
                return made if isinstance(value, str) else made.encode()
        if isinstance(value, str):
            return text(chosen) if chosen.random() < 0.5 else changed(data, chosen).decode("utf-8", "replace")
        return changed(value, chosen, numbers=True)
    if isinstance(value, int):
        near = (value + 1, value - 1, -value, 0, 1, 2, 2**31, 2**40, 2**63 - 1, -(2**63), value << 24 & 2**62 - 1)
        return chosen.choice((*near, chosen.randrange(80)))
    return scalar(chosen)


def seal(connection: sqlite3.Connection) -> None:
    """Recompute all checksums from the current rows."""
    for part, body in _all(connection, "SELECT part, body FROM parts"):
        connection.execute("UPDATE parts SET body = ? WHERE part = ?", (_sealed_body(body), part))
    for cluster, graph in _all(connection, "SELECT cluster, graph FROM cluster_graphs"):
        connection.execute("UPDATE cluster_graphs SET graph = ? WHERE cluster = ?", (_sealed_graph(graph), cluster))
    for space, body, graph in _all(connection, "SELECT space, body, graph FROM centroids"):
        sealed = (_sealed_body(body), _sealed_graph(graph), space)
        connection.execute("UPDATE centroids SET body = ?, graph = ? WHERE space = ?", sealed)
    checksums.register(connection)
    for statement in (
        "UPDATE memo SET checksum = checksum(CAST(kind AS BLOB), key, value)",
        "UPDATE names SET checksum = checksum(CAST(key AS BLOB), code) WHERE code IS NOT NULL",
        """UPDATE checksums SET checksum = (SELECT checksum(CAST(value AS BLOB)) FROM settings
            WHERE 'settings/' || settings.name = checksums.name) WHERE name LIKE 'settings/%'""",
        """UPDATE vector_indexes
            SET checksum = checksum(dimension, CAST(design AS BLOB), CAST(calibration AS BLOB))""",
        "UPDATE documents SET dates_checksum = checksum(valid_from, dated, dated_until, dated_by)",
        "UPDATE versions SET dates_checksum = checksum(valid_from, valid_until, dated, dated_until, dated_by)",
    ):
        with suppress(*sqlite_errors()):
            connection.execute(statement)
    for (row,) in _all(connection, "SELECT document FROM documents"):
        with suppress(*sqlite_errors(), TypeError):
            documents.seal(connection, row)


def _all(connection: sqlite3.Connection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query).fetchall()


def _sealed_body(body: Any) -> Any:
    if not isinstance(body, bytes) or len(body) < 32:
        return body
    (n,) = struct.unpack_from("<I", body, 8)
    head = min(32 + 12 * n, len(body))
    sums = struct.pack("<II", kernel.checksum(body[32:head]), kernel.checksum(body[head:]))
    return body[:16] + sums + body[24:]


def _sealed_graph(graph: Any) -> Any:
    if not isinstance(graph, bytes) or len(graph) < 20:
        return graph
    return graph[:16] + struct.pack("<I", kernel.checksum(graph[20:])) + graph[20:]


def ask(path: Path, chosen: random.Random, folder: Path) -> None:
    """Run random reads and writes, repair the file, and run others; raise the last MonographError, if any."""
    refused: MonographError | None = None
    for repaired in (False, True):
        try:
            with Monograph.open(path, HashEmbedder(16), model=Whole(SAID, 9)) as opened:
                first: list[Callable[[], object]] = [partial(opened.check, repair=True)] if repaired else []
                works = chosen.sample(reading(opened), 8) + chosen.sample(writing(opened, folder), 2)
                for work in (*first, *works):
                    try:
                        work()
                    except MonographError as error:
                        refused = error
        except MonographError as error:
            refused = error
    if refused is not None:
        raise refused


def reading(opened: Monograph) -> list[Callable[[], object]]:
    """Return the operations that only read."""
    ways = ("auto", "dense", "lexical", "tfidf", "hybrid", "graph", "graph:faithful=true", "tree", "tree:detail=0.5")
    searches: list[Callable[[], object]] = [
        partial(opened.search, "whom did Anna Calder meet in Vienna, and INV-2024?", 8, how, where)
        for how in ways
        for where in (None, {"year": {">": 10}})
    ]
    return [
        opened.stats,
        opened.check,
        opened.documents,
        partial(opened.fetch, vectors=True),
        partial(opened.document, "d5"),
        partial(opened.chunks, "d5"),
        *searches,
        partial(opened.context, "whom did Anna Calder meet?"),
        partial(opened.ask, "whom did Anna Calder meet?", remember=False),
        opened.graph.entities,
        partial(opened.graph.entities, like="a"),
        partial(opened.graph.neighbourhood, "Anna Calder", 2),
        partial(opened.graph.routes, "Anna Calder", "Riga"),
        opened.graph.merges,
        opened.graph.to_networkx,
        opened.tree.outline,
        opened.tree.price,
        opened.files.sources,
    ]


def writing(opened: Monograph, folder: Path) -> list[Callable[[], object]]:
    """Return the operations that change the file."""
    return [
        partial(opened.add, [Document("Anna Calder came back to Riga with Mrs Grubb.", id="new")]),
        partial(opened.remove, ["d5"]),
        partial(opened.remove, ["d6"], forget=True),
        partial(opened.remove_chunks, where={"year": {"<": 5}}),
        opened.compact,
        opened.tree.rebuild,
        opened.graph.rebuild,
        partial(opened.vectors.rebuild, HashEmbedder(16)),
        partial(opened.vectors.rebuild, HashEmbedder(24)),
        partial(opened.sync, folder / "texts"),
        opened.files.retry,
        partial(opened.files.remove, "texts"),
        partial(opened.graph.keep_apart, "Tobias Renk", "Mrs Grubb"),
        partial(opened.graph.unite, "Anna Calder", "Ines Okafor"),
        partial(opened.backup, folder / "backup.mono", overwrite=True),
        partial(opened.check, repair=True),
    ]
