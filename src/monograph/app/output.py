"""Output of results: tables for users and JSON for programs."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, TextIO

if TYPE_CHECKING:
    from rich.console import Console

    from monograph.values import ChangeKind, Cost, Finding, Move, OnProgress, Plan, Problem, Progress, Report

SHOWN_CHARACTERS = 400
SHOWN_LINES = 20
PIPED_WIDTH = 160
LINE_SECONDS = 10.0
"""Seconds between two lines of progress."""
_STYLE_VARIABLES = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Environment variables that make ``rich`` write colours even if the output is not a terminal."""

_HARMLESS = "".join(map(chr, (0xA0, 0xAD, 0x1680, *range(0x2000, 0x200B), 0x200C, 0x200D, 0x202F, 0x205F, 0x3000)))
"""Unprintable characters that are not escaped: spaces, soft hyphens and joiners."""

_KINDS: tuple[ChangeKind, ...] = ("new", "changed", "gone", "same")


def as_json(value: Any) -> Any:
    """Convert a value made of dataclasses to JSON types.

    The hits of a context are left out, also in the context of an answer. An answer gets two more fields:
    ``confidence``, and ``best``, which is moved from the answer's context.
    """
    from monograph.values import Answer, Context

    result = _plain(value)
    if isinstance(value, Answer | Context):
        context = result["context"] if isinstance(value, Answer) else result
        del context["hits"]
        if isinstance(value, Answer):
            result["confidence"] = value.confidence
            result["best"] = context.pop("best") if value.best else None
    return result


def _plain(value: Any) -> Any:
    """Convert a value to dicts, lists, strings and numbers, field by field."""
    from monograph.dates.span import TimeSpan

    if isinstance(value, TimeSpan):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Write a value as JSON to standard output: indented, or with ``indent=None`` on one line."""
    text = json.dumps(as_json(value), ensure_ascii=False, indent=indent)
    _write(
        sys.stdout,
        "\n".join(_escape(line, lambda char: json.dumps(char)[1:-1]) for line in text.split("\n")) + "\n",
    )


def print_line(text: str = "", style: str | None = None, *, stderr: bool = False) -> None:
    """Print one line with control characters escaped. Markup in the text has no effect."""
    stream = sys.stderr if stderr else sys.stdout
    # rich is slow to load, so it is imported only for tables and for styles that are visible.
    if style is not None and (stream.isatty() or any(map(os.environ.get, _STYLE_VARIABLES))):
        rich_console(stderr=stderr).print(visible(text), style=style)
    else:
        _write(stream, f"{visible(text)}\n")


def print_text(text: str, *, stderr: bool = False) -> None:
    """Print a text of several lines with escaped control characters."""
    _write(sys.stderr if stderr else sys.stdout, f"{safe(text)}\n")


def print_piece(text: str) -> None:
    """Print a part of a text immediately, without a line break."""
    _write(sys.stdout, safe(text))


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[str] = (), folding: Iterable[str] = ()
) -> None:
    """Print a table; ``right`` names right-aligned columns, ``folding`` columns whose cells may wrap."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        side: Literal["left", "right"] = "right" if heading in right else "left"
        table.add_column(heading, justify=side, overflow="fold", no_wrap=heading not in folding)
    for row in rows:
        table.add_row(*map(visible, row))
    rich_console(stderr=False).print(table)


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()


def escape_logs() -> None:
    """Escape control characters in the log messages that this process writes to standard error."""
    import logging

    class Escaped(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return safe(super().format(record))

    if logging.lastResort is not None:
        logging.lastResort.setFormatter(Escaped())


def rich_console(*, stderr: bool) -> Console:
    """Return rich's console, for tables and progress bars."""
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704 - rich calls it where it has caught the error, and would end with code 1

    # Without a terminal, tables are not truncated to a narrow default width.
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else PIPED_WIDTH
    return Piped(stderr=stderr, width=width, markup=False, highlight=False, emoji=False, soft_wrap=True)


def shell_hint(hint: str) -> str:
    """Return the part of an error's hint that is for the command line: the text before ``in Python:``."""
    return hint.partition("in Python: ")[0].rstrip("; ")


def visible(text: str) -> str:
    """Return text with control characters escaped, on one line, so that a file name cannot move the cursor."""
    return _escape(text, lambda char: char.encode("unicode_escape").decode())


def safe(text: str) -> str:
    """Return text of several lines with control characters escaped, except the line breaks."""
    return "\n".join(visible(line.replace("\t", "    ")) for line in text.split("\n"))


def _escape(text: str, escape: Callable[[str], str]) -> str:
    """Return a text in which ``escape`` replaces each unprintable character, except those of _HARMLESS."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in _HARMLESS else escape(char) for char in text)


@contextmanager
def progress(phase: str, *, quiet: bool) -> Iterator[OnProgress | None]:
    """Yield a callback that shows the progress of work on standard error; None with ``quiet``.

    A terminal shows a bar. Otherwise a line is printed every LINE_SECONDS. ``phase`` names the work in the output.
    """
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        with progress_lines(phase) as watch:
            yield watch
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}", markup=False),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=rich_console(stderr=True), transient=True) as bar:
        task = bar.add_task(phase, total=None, unit="")

        def show(progress: Progress) -> None:
            unit = _unit(progress)
            bar.update(task, description=progress.phase, completed=progress.done, total=progress.total, unit=unit)

        yield show


@contextmanager
def progress_lines(phase: str, seconds: float = LINE_SECONDS) -> Iterator[OnProgress]:
    """Yield a callback that receives progress, and print the last progress to standard error at regular intervals.

    A line is printed every ``seconds`` seconds, and begins with ``phase``, the name of the work.
    """
    status, finished = phase, threading.Event()

    def watch(progress: Progress) -> None:
        nonlocal status
        count = f"{progress.done:,} of {progress.total:,} {_unit(progress)}"
        status = f"{phase}: {progress.phase}, {count}" + (f", at {progress.item}" if progress.item else "")

    def print_lines() -> None:
        with suppress(OSError):  # Standard error may be closed.
            while not finished.wait(seconds):
                print_line(status, stderr=True)

    printer = threading.Thread(target=print_lines, name="progress", daemon=True)
    printer.start()
    try:
        yield watch
    finally:
        finished.set()
        printer.join()


def _unit(progress: Progress) -> str:
    read = f", {in_bytes(progress.read_bytes)} of {in_bytes(progress.total_bytes)}" if progress.total_bytes else ""
    return progress.unit + read


def print_problems(problems: Sequence[Problem]) -> None:
    """Print one line for each source that could not be read. Files that need the same missing extra share one line."""
    if not problems:
        return
    groups: dict[tuple[str, ...], list[Problem]] = {}
    for problem in problems:
        key = (_cause(problem), problem.hint) if problem.needs else (problem.uri, problem.reason, problem.hint)
        groups.setdefault(key, []).append(problem)
    print_line(f"{len(problems)} not stored:", stderr=True)
    for first, *rest in list(groups.values())[:SHOWN_LINES]:
        hint = f"  ({shell_hint(first.hint)})" if shell_hint(first.hint) else ""
        if rest:
            print_line(f"  {len(rest) + 1:,} files, {first.uri} and others: {_cause(first)}{hint}", stderr=True)
        else:
            print_line(f"  {first.uri}: {first.reason}{hint}", stderr=True)
    if len(groups) > SHOWN_LINES:
        count = sum(map(len, list(groups.values())[SHOWN_LINES:]))
        print_line(f"  … and {count:,} more (--json lists all)", stderr=True)


def _cause(problem: Problem) -> str:
    """Return the reason of a problem without the place in the file."""
    return problem.reason.rpartition(": ")[2]


def print_plan(plan: Plan) -> None:
    """Print the changes that a sync would make, and their cost if it was computed."""
    print_moves(plan.moved)
    for kind, sign in zip(_KINDS, "+~-", strict=False):
        changes = plan.of(kind)
        for change in changes[:SHOWN_LINES]:
            print_line(f"{sign} {change.uri}  {in_bytes(change.size)}")
        if len(changes) > SHOWN_LINES:
            print_line(f"{sign} … and {len(changes) - SHOWN_LINES} more")
    print_line(", ".join(f"{len(plan.of(kind))} {kind}" for kind in _KINDS))
    if plan.cost is not None:
        print_line(described_cost(plan.cost))


def described_cost(cost: Cost) -> str:
    """Return the counts of the values that would be derived, on one line."""
    return (
        f"to make: {cost.chunks:,} chunks, {cost.embeddings:,} embeddings"
        f" ({cost.embedding_tokens:,} tokens), {cost.extractions:,} extractions, "
        + (f"about {cost.typical_summaries:,} summaries (at most {cost.summaries:,}), " if cost.summaries else "")
        + (f"{cost.pictures:,} pictures described, " if cost.pictures else "")
        + f"{cost.model_calls:,} model calls"
        + (f" (at most {cost.model_tokens:,} tokens)" if cost.model_calls else "")
    )


def print_moves(moves: Sequence[Move]) -> None:
    """Print one line for each root whose folder was moved."""
    for move in moves:
        print_line(f"{move.root} was moved: {move.old} is now {move.new}")


def print_report(report: Report, path: str) -> None:
    """Print the counts of a sync or another write on one line, after a line for each moved root.

    ``path`` is the path of the file or shelf.
    """
    print_moves(report.moved)
    failed = f" ({report.fell_back} by patterns: the model failed)" if report.fell_back else ""
    parts = [
        f"documents {report.added} added, {report.changed} changed, {report.removed} removed",
        f"files {report.same} unchanged",
        f"chunks {report.chunks_added} added, {report.chunks_removed} removed",
        f"vectors {report.embedded} embedded, {report.reused} reused",
    ]
    if report.extracted or report.fell_back:
        chunks = "1 chunk" if report.extracted == 1 else f"{report.extracted} chunks"
        parts.append(f"names extracted from {chunks}{failed}")
    if report.summarized:
        parts.append(f"summaries {report.summarized} made")
    if report.described:
        parts.append(f"images {report.described} described")
    print_line(f"{path}: {'; '.join(parts)}; {report.seconds:.2f} s")


def print_findings(findings: Sequence[Finding]) -> None:
    """Print one line for each fault."""
    for finding in findings:
        default_hint = shell_hint(finding.hint) or "restore the file from a copy, or sync a new one"
        print_line(f"{finding.table}: {finding.fault}  ({'--repair fixes it' if finding.repairable else default_hint})")
    print_line("all is well" if not findings else f"{len(findings)} faults")


def in_bytes(size: int) -> str:
    """Return a size in bytes as text with a unit, such as ``1.5 MB``."""
    amount = float(size)
    for unit in ("B", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.2f} GB"
