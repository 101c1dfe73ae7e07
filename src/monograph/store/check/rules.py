"""Rules for stored rows: the faults that rows can have, and what a repair does about each."""

# ruff: noqa: S608 - every statement is made of constants

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from monograph.errors import MonographError
from monograph.store.documents import documents
from monograph.store.file.database import Connection
from monograph.store.file.errors import UNDECODABLE, row_fault, sqlite_errors, sqlite_name
from monograph.store.file.settings import StoredModel, load_model
from monograph.store.graph.names import code_size
from monograph.values import Finding

_TRANSIENT_ERRORS = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_NOMEM", "SQLITE_INTERRUPT", "SQLITE_IOERR")
"""Beginnings of the names of SQLite's errors that have other causes than damaged rows."""
_SETTING_FAULT = "the setting '"

DELETE = "DELETE"
"""A remedy: delete the rows that have the fault."""
DERIVE = "DERIVE"
"""A remedy: change nothing. The missing values are derived after the repair."""
GRAPH = "GRAPH"
"""A remedy: derive the whole graph again after the other remedies."""


@dataclass
class CheckedRows:
    """The rows of a file within one transaction, and cached values that several rules need."""

    connection: Connection

    @cached_property
    def embedder(self) -> StoredModel | None:
        """The embedder that made the stored vectors; None in a file without vectors."""
        return load_model(self.connection, "embedder")

    @cached_property
    def extractor(self) -> StoredModel | None:
        """The extractor that the graph is built with; None in a file without a graph."""
        return load_model(self.connection, "extractor")

    @property
    def has_graph(self) -> bool:
        """Whether the file has a complete graph. A graph that is still being built is not checked."""
        try:
            return self.extractor is not None and self.extractor.graph > 0
        except MonographError:  # The rule for settings reports it.
            return False

    @cached_property
    def damaged(self) -> frozenset[int]:
        """Rows of the documents whose content does not match its checksum.

        Most rules skip these documents when they compare a derived value with the text that it was derived from. Only
        the inverted index is compared with the texts of all documents.
        """
        rows = documents.numbers(self.connection)
        return frozenset(row for row in rows if not documents.is_sound(self.connection, row))

    @property
    def vector(self) -> int | None:
        """Number of bytes of a vector; None in a file without vectors."""
        return None if self.embedder is None else 4 * self.embedder.dimension

    @property
    def code(self) -> int | None:
        """Number of bytes of a name's code; None in a file without vectors.

        A code has one bit for each value of the name's embedding: the value's sign.
        """
        return None if self.embedder is None else code_size(self.embedder.dimension)

    @property
    def broken(self) -> str:
        """The document rows in :attr:`damaged`, as a JSON list."""
        return json.dumps(sorted(self.damaged))

    def execute(self, statement: str) -> Any:
        """Run a statement, and return its cursor.

        The statement may have the parameters ``:vector``, ``:code`` and ``:broken``. Their values are the properties
        with these names.
        """
        names = (name for name in ("vector", "code", "broken") if f":{name}" in statement)
        return self.connection.execute(statement, {name: getattr(self, name) for name in names})


Find: TypeAlias = str | Callable[[CheckedRows], Iterable[Any]]
Remedy: TypeAlias = str | tuple[str, ...] | Callable[[CheckedRows], object] | None


@dataclass(frozen=True, slots=True)
class Rule:
    """A fault that rows can have, and its remedy.

    Parameters
    ----------
    table:
        The table that has the fault. Each finding of the rule names this table.
    fault:
        The text of a finding. ``{}`` in it is replaced by the number of rows, or by the text that ``find`` yields.
    find:
        Finds the rows that have the fault. It is an SQL condition, in which the table is ``t``; a query; or a function.
        The function yields rows as tuples, a text for each fault, or complete findings.
    remedy:
        What a repair does about the fault:

        - None: nothing, so the fault is only reported;
        - DELETE: delete the rows;
        - DERIVE, GRAPH: nothing at once; missing values, or the whole graph, are derived later;
        - a text that begins with ``SET``: update the rows;
        - any other text, or a tuple of texts: run these SQL statements. A statement with ``?`` runs once for each row
          that ``find`` returns, a statement without ``?`` runs once;
        - a function: call it.
    hint:
        What the user can do about a fault that the remedy does not remove.
    """

    table: str
    fault: str
    find: Find
    remedy: Remedy = None
    hint: str = ""

    def found(self, checked: CheckedRows) -> Iterable[Any]:
        """Return the results of ``find``: rows, texts or findings. The result is empty if no row has the fault."""
        if not isinstance(self.find, str):
            return self.find(checked)
        is_query = self.find.startswith("SELECT")
        query = self.find if is_query else f"SELECT 1 FROM {self.table} AS t WHERE {self.find}"
        return list(checked.execute(query))

    def findings(self, checked: CheckedRows) -> Iterator[Finding]:
        """Yield the findings of the rule. If rows cannot be read, this is a finding, too."""
        is_repairable = self.remedy is not None and not self.hint
        try:
            count = 0
            for result in self.found(checked):
                if isinstance(result, Finding):
                    yield result
                elif isinstance(result, str):
                    yield Finding(self.table, self.fault.format(result), is_repairable, self.hint)
                else:
                    count += 1
            if count:
                yield Finding(self.table, self.fault.format(count), is_repairable, self.hint)
        except MonographError as error:
            yield Finding(self.table, error.message, repairable=self.table not in ("file", "documents"))
        except sqlite_errors() as error:
            if sqlite_name(error).startswith(_TRANSIENT_ERRORS):
                raise
            fault = row_fault(checked.connection, error) or str(error)
            yield Finding(self.table, fault, repairable=self.table != "file")
        except UNDECODABLE as error:
            yield Finding(self.table, f"its rows contradict each other: {error!r}", repairable=True)

    def apply(self, checked: CheckedRows) -> None:
        """Apply the remedy of the rule to the rows that have the fault."""
        if callable(self.remedy):
            self.remedy(checked)
        elif self.remedy == DELETE:
            checked.execute(f"DELETE FROM {self.table} AS t WHERE {self.find}")
        elif isinstance(self.remedy, str) and self.remedy.startswith("SET"):
            checked.execute(f"UPDATE {self.table} AS t {self.remedy} WHERE {self.find}")
        else:
            statements = (self.remedy,) if isinstance(self.remedy, str) else self.remedy or ()
            rows = list(self.found(checked)) if "?" in "".join(statements) else []
            for statement in statements:
                checked.connection.executemany(statement, rows if "?" in statement else [()])


def findings(checked: CheckedRows, rules: Sequence[Rule]) -> Iterator[Finding]:
    """Yield the findings of all given rules. A fault that several rules find is yielded once."""
    seen: set[str] = set()
    for rule in rules:
        for finding in rule.findings(checked):
            # Several rules may fail at one unreadable row; a damaged setting is also reported by the rule for settings.
            if finding.fault not in seen and not (_SETTING_FAULT in finding.fault and "settings" in seen):
                seen |= {finding.fault, finding.table}
                yield finding


def repair(checked: CheckedRows, rules: Sequence[Rule]) -> bool:
    """Apply the remedies of the rules that have findings, in order; return whether the graph must be derived again."""
    is_graph_wrong = False
    checked.execute("PRAGMA defer_foreign_keys = ON")  # Rows are deleted before the rows that refer to them.
    for rule in rules:
        is_known = rule.remedy == GRAPH and is_graph_wrong
        if rule.remedy in (None, DERIVE) or is_known or not list(rule.findings(checked)):
            continue
        if rule.remedy == GRAPH:
            is_graph_wrong = True
        else:
            rule.apply(checked)
    return is_graph_wrong
