"""Rules for stored rows: the faults that rows can have, and what a repair does about each."""

# ruff: noqa: S608 - every statement is made of constants

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from monograph.errors import MonographError
from monograph.store.documents import documents
from monograph.store.file import checksums
from monograph.store.file.database import Connection
from monograph.store.file.errors import UNDECODABLE, row_fault, sqlite_errors, sqlite_name
from monograph.store.file.settings import StoredModel, load_model
from monograph.values import Finding

_PASSING = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_NOMEM", "SQLITE_INTERRUPT", "SQLITE_IOERR")
"""Errors that say nothing of the rows."""
_OF_SETTING = "the setting '"

DELETE = "DELETE"
"""A remedy: delete the rows."""
DERIVE = "DERIVE"
"""A remedy: nothing is to be deleted, what is missing is derived."""
GRAPH = "GRAPH"
"""A remedy: the graph as a whole is to be derived again."""


@dataclass
class Checked:
    """The rows of a file in one transaction, and what several rules need to know of them."""

    connection: Connection

    @cached_property
    def embedder(self) -> StoredModel | None:
        """The embedder that the vectors are of."""
        return load_model(self.connection, "embedder")

    @cached_property
    def extractor(self) -> StoredModel | None:
        """The extractor that the graph is made with."""
        return load_model(self.connection, "extractor")

    @property
    def has_graph(self) -> bool:
        """Whether the file has a graph that is complete: one that is still to be made has no faults."""
        try:
            return self.extractor is not None and self.extractor.graph > 0
        except MonographError:  # The rule for settings tells of it.
            return False

    @cached_property
    def damaged(self) -> frozenset[int]:
        """The rows of the documents whose content is not what was stored: nothing is held against their texts."""
        rows = documents.numbers(self.connection)
        return frozenset(row for row in rows if not checksums.is_sound(self.connection, row))

    @cached_property
    def sizes(self) -> dict[str, int | None]:
        """How many bytes a vector and the code of a name have; None in a file without vectors."""
        if self.embedder is None:
            return {"vector": None, "code": None}
        return {"vector": 4 * self.embedder.dimension, "code": -(-self.embedder.dimension // 8)}

    def execute(self, statement: str) -> Any:
        """Run a statement, in which ``:vector`` and ``:code`` stand for :attr:`sizes`; return its cursor."""
        return self.connection.execute(statement, self.sizes if ":" in statement else {})


def counted(some: Iterable[object]) -> list[int]:
    """Return how many there are, as a rule's function yields it: nothing for none."""
    count = sum(1 for _ in some)
    return [count] if count else []


Find: TypeAlias = str | Callable[[Checked], Iterable[object]]
Remedy: TypeAlias = str | Callable[[Checked], object] | None


@dataclass(frozen=True, slots=True)
class Rule:
    """A fault that rows can have.

    Parameters
    ----------
    table:
        The table that is named where the fault is found.
    fault:
        What is said of it; ``{}`` stands for the number of rows, or for what ``find`` yields.
    find:
        The SQL condition of the rows that have the fault, in which the table is ``t``; a query that counts them; or a
        function that yields what is said of each fault, or whole findings.
    remedy:
        What a repair does: None reports; DELETE deletes the rows; ``SET ...`` updates them; a function does what it
        does; DERIVE and GRAPH derive again.
    mend:
        What the user can do about a fault that stays after the remedy.
    """

    table: str
    fault: str
    find: Find
    remedy: Remedy = None
    mend: str = ""

    def findings(self, checked: Checked) -> Iterator[Finding]:
        """Yield what is found; rows that cannot be read for it are a finding too."""
        try:
            values: Iterable[object]
            if not isinstance(self.find, str):
                values = self.find(checked)
            else:
                is_query = self.find.startswith("SELECT")
                query = self.find if is_query else f"SELECT count(*) FROM {self.table} AS t WHERE {self.find}"
                values = filter(None, checked.execute(query).fetchone())
            is_repairable = self.remedy is not None and not self.mend
            for one in values:
                if isinstance(one, Finding):
                    yield one
                else:
                    yield Finding(self.table, self.fault.format(one), is_repairable, self.mend)
        except MonographError as error:
            yield Finding(self.table, error.message, repairable=self.table not in ("file", "documents"))
        except sqlite_errors() as error:
            if sqlite_name(error).startswith(_PASSING):
                raise
            fault = row_fault(checked.connection, error) or str(error)
            yield Finding(self.table, fault, repairable=self.table != "file")
        except UNDECODABLE as error:
            yield Finding(self.table, f"its rows contradict each other: {error!r}", repairable=True)


def findings(checked: Checked, rules: Sequence[Rule]) -> Iterator[Finding]:
    """Yield what the rules find, each fault once."""
    seen: set[str] = set()
    for rule in rules:
        for one in rule.findings(checked):
            # Rows that cannot be read may be needed for several rules, and settings are held against their checksums.
            if one.fault not in seen and not (_OF_SETTING in one.fault and "settings" in seen):
                seen |= {one.fault, one.table}
                yield one


def mend(checked: Checked, rules: Sequence[Rule]) -> bool:
    """Apply the remedies of the rules that find anything, in order; return whether the graph is to be derived again."""
    is_graph_wrong = False
    checked.execute("PRAGMA defer_foreign_keys = ON")  # Rows go before those that refer to them.
    for rule in rules:
        is_known = rule.remedy == GRAPH and is_graph_wrong
        if rule.remedy in (None, DERIVE) or is_known or not list(rule.findings(checked)):
            continue
        if not isinstance(rule.remedy, str):
            rule.remedy(checked)
        elif rule.remedy == GRAPH:
            is_graph_wrong = True
        elif rule.remedy == DELETE:
            checked.execute(f"DELETE FROM {rule.table} AS t WHERE {rule.find}")
        else:
            checked.execute(f"UPDATE {rule.table} AS t {rule.remedy} WHERE {rule.find}")
    return is_graph_wrong
