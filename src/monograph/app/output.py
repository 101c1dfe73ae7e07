"""Results as tables for people and as JSON for machines."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from monograph.values import (
        ChangeKind,
        Chunk,
        Cost,
        Document,
        Finding,
        Hit,
        Metadata,
        Move,
        OnProgress,
        Plan,
        Problem,
        Progress,
        Report,
        Version,
    )

SHOWN_CHARACTERS = 400
SHOWN_LINES = 20
PIPED_WIDTH = 160
_STYLED_ANYWAY = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables that make rich write colours where there is no terminal."""

_LEFT_OUT = dict.fromkeys(map(ord, "\a\b\v\f\r"))
"""Control characters that rich leaves out of a text."""

_KINDS: tuple[ChangeKind, ...] = ("new", "changed", "gone", "same")


def as_json(value: Any) -> Any:
    """A value made of dataclasses as plain JSON: objects, lists, texts, numbers."""
    from monograph.dates.span import Span

    if isinstance(value, Span):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: as_json(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def print_json(value: Any) -> None:
    """Write a value as indented JSON to standard output."""
    sys.stdout.write(json.dumps(as_json(value), ensure_ascii=False, indent=2) + "\n")


class Lines:
    """Printer of lines and tables. It imports rich, which is slow to load, only for tables and terminals."""

    def __init__(self, *, stderr: bool) -> None:
        self._stderr = stderr
        self._stream = sys.stderr if stderr else sys.stdout
        self._plain = not self._stream.isatty() and not any(map(os.environ.get, _STYLED_ANYWAY))

    def print(self, what: str | Table = "", style: str | None = None) -> None:
        """Print a line, some lines, or a table. Text from files is printed as it is: never read as markup."""
        if self._plain and isinstance(what, str):
            self._stream.write(what.translate(_LEFT_OUT).expandtabs() + "\n")
            self._stream.flush()
        else:
            rich_console(stderr=self._stderr).print(what, style=style)


def console(*, stderr: bool = False) -> Lines:
    """Return the printer for standard output, or for standard error."""
    return Lines(stderr=stderr)


def rich_console(*, stderr: bool) -> Console:
    """Return rich's console, for tables and progress bars."""
    from rich.console import Console

    # Where no terminal sets a width, no table is to be cut.
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else PIPED_WIDTH
    return Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False, soft_wrap=True)


def visible(text: str) -> str:
    """Text on one line with control characters shown as escapes: a file's name cannot move the cursor."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def safe(text: str) -> str:
    """Text on many lines, its other control characters shown as escapes."""
    return "\n".join(visible(line.replace("\t", "    ")) for line in text.split("\n"))


@contextmanager
def progress_bar(phase: str, *, quiet: bool) -> Iterator[OnProgress | None]:
    """A bar on standard error while work goes on; a single line where no terminal is."""
    if quiet:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[unit]}"))
    with Bar(*columns, TimeRemainingColumn(), console=rich_console(stderr=True), transient=sys.stderr.isatty()) as bar:
        task = bar.add_task(phase, total=None, unit="")

        def watch(progress: Progress) -> None:
            unit = progress.unit
            if progress.total_bytes:
                unit += f", {in_bytes(progress.read_bytes)} of {in_bytes(progress.total_bytes)}"
            bar.update(task, description=progress.phase, completed=progress.done, total=progress.total, unit=unit)

        yield watch


def table(*headings: str, right: Iterable[str] = (), folding: Iterable[str] = ()) -> Table:
    """An aligned table; ``right`` names the columns of numbers, ``folding`` those that may take several lines."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    made = Table(box=SIMPLE_HEAD, pad_edge=False)
    numbers, folded = set(right), set(folding)
    for heading in headings:
        side: Literal["left", "right"] = "right" if heading in numbers else "left"
        made.add_column(heading, justify=side, overflow="fold", no_wrap=heading not in folded)
    return made


def print_problems(problems: Sequence[Problem]) -> None:
    """One line a source that could not be taken in, or a kind of file that nothing here reads."""
    if not problems:
        return
    out = console(stderr=True)
    out.print(f"{len(problems)} not taken in:" if len(problems) > 1 else "1 not taken in:")
    groups = _alike(problems)
    for first, *others in groups[:SHOWN_LINES]:
        mend = f"  ({first.mend})" if first.mend else ""
        if others:
            out.print(f"  {len(others) + 1:,} files, {visible(first.uri)} and others: {_cause(first)}{mend}")
        else:
            out.print(f"  {visible(first.uri)}: {first.reason}{mend}")
    if len(groups) > SHOWN_LINES:
        out.print(f"  … and {sum(map(len, groups[SHOWN_LINES:])):,} more (--json lists all)")


def _alike(problems: Sequence[Problem]) -> list[list[Problem]]:
    """Problems with those that are the same: files of one kind that cannot be read for want of an extra."""
    groups: dict[tuple[str, ...], list[Problem]] = {}
    for problem in problems:
        key = (_cause(problem), problem.mend) if problem.needs else (problem.uri, problem.reason, problem.mend)
        groups.setdefault(key, []).append(problem)
    return list(groups.values())


def _cause(problem: Problem) -> str:
    """A reason without the place in the file."""
    return problem.reason.rpartition(": ")[2]


def print_plan(plan: Plan) -> None:
    """What an apply would do, and its cost."""
    out = console()
    print_moves(plan.moved)
    for kind, sign in zip(_KINDS, "+~-", strict=False):
        changes = plan.of(kind)
        for change in changes[:SHOWN_LINES]:
            out.print(f"{sign} {visible(change.uri)}  {in_bytes(change.size)}")
        if len(changes) > SHOWN_LINES:
            out.print(f"{sign} … and {len(changes) - SHOWN_LINES} more")
    out.print(", ".join(f"{len(plan.of(kind))} {kind}" for kind in _KINDS))
    if plan.cost is not None:
        print_cost(plan.cost)


def print_cost(cost: Cost) -> None:
    """What would be derived."""
    console().print(
        f"to make: {cost.chunks:,} chunks, {cost.embeddings:,} embeddings"
        f" ({cost.embedding_tokens:,} tokens), {cost.extractions:,} extractions, "
        + (f"about {cost.typical_summaries:,} summaries (at most {cost.summaries:,}), " if cost.summaries else "")
        + (f"{cost.pictures:,} pictures described, " if cost.pictures else "")
        + f"{cost.model_calls:,} model calls"
        + (f" (at most {cost.model_tokens:,} tokens)" if cost.model_calls else "")
    )


def print_embedding_cost(cost: Cost, path: str) -> None:
    """What making every vector anew would take."""
    asked = f", at most {cost.model_calls:,} model calls, {cost.model_tokens:,} tokens" if cost.model_calls else ""
    console().print(
        f"{path}: {cost.embeddings:,} embeddings ({cost.embedding_tokens:,} tokens)"
        + (f", at most {cost.summaries:,} summaries, each embedded too{asked}" if cost.summaries else "")
    )


def print_moves(moves: Sequence[Move]) -> None:
    """A line a root that lies in another place than before."""
    for one in moves:
        console().print(f"{visible(one.root)} was moved: {visible(one.old)} is now {visible(one.new)}")


def print_report(report: Report, path: str) -> None:
    """What an apply did."""
    out = console()
    print_moves(report.moved)
    extracted = f"{report.extracted} extracted" + (
        f" ({report.fell_back} by patterns: the model failed)" if report.fell_back else ""
    )
    out.print(
        f"{path}: {report.added} added, {report.changed} changed, {report.removed} removed, {report.same} the same; "
        f"{report.chunks_added} chunks in, {report.chunks_removed} out; "
        f"{report.embedded} embedded, {report.remembered} remembered; "
        + (f"{extracted}; " if report.extracted or report.fell_back else "")
        + (f"{report.summarized} summarized; " if report.summarized else "")
        + (f"{report.described} described; " if report.described else "")
        + f"{report.seconds:.2f} s"
    )


def print_hits(hits: Sequence[Hit], *, explain: bool) -> None:
    """Hits with their sources, best first."""
    out = console()
    if not hits:
        out.print("nothing found")
    for hit in hits:
        out.print(f"{hit.rank + 1}. {headed(hit.title, hit.metadata)}", style="bold")
        if hit.summary is None:
            place = placed(hit.uri or hit.chunk.document_id, hit.chunk, hit.metadata)
            former = "" if hit.valid is None or hit.valid.until is None else f"  (as it was {hit.valid})"
            out.print(f"   {place}  [{hit.chunk.id}]{former}", style="dim")
        else:
            under = f"summary of {len(hit.summary.chunks):,} passages, layer {hit.summary.layer}"
            out.print(f"   {under}  [{hit.summary.id}]", style="dim")
        if explain:
            out.print(f"   {visible(hit.explain())}", style="dim")
        elif hit.path is not None:
            out.print(f"   {visible(str(hit.path))}", style="dim")
        out.print(_indented(_shortened(hit.text)))
        out.print()


def headed(title: str, metadata: Metadata) -> str:
    """What a chunk stands under: its document's title, and the section."""
    return " › ".join(visible(one) for one in (title, section_of(title, metadata)) if one)


def title_and_place(documents: Mapping[str, Document], identifier: str) -> tuple[str, str]:
    """(title, uri or else id) of a document, by its id; one that is not there has only that."""
    found = documents.get(identifier)
    return ("", identifier) if found is None else (found.title, found.uri or found.id)


def section_of(title: str, metadata: Metadata) -> str:
    """The headings above a chunk, without its document's title."""
    return str(metadata.get("section", "")).removeprefix(title).removeprefix(" > ")


def placed(where: str, chunk: Chunk, metadata: Metadata) -> str:
    """Where a chunk stands: its document's uri or id, its characters, and its page or the like."""
    place = f"{visible(where)}:{chunk.start}-{chunk.end}"
    from monograph.values import cite

    cited = cite(metadata)
    return f"{visible(cited)} of {place}" if cited else place


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS].rstrip() + " …"


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" for line in safe(text).split("\n") if line.strip())


def print_documents(documents: Sequence[Document]) -> None:
    """A line a document."""
    made = table("id", "title", "uri", folding=["id", "title", "uri"])
    for document in documents:
        made.add_row(visible(document.id), visible(document.title), visible(document.uri))
    console().print(made)


def print_findings(findings: Sequence[Finding]) -> None:
    """A line a fault."""
    out = console()
    for finding in findings:
        otherwise = finding.mend or "restore the file from a copy, or sync a new one"
        mend = "--repair mends it" if finding.repairable else otherwise
        out.print(f"{finding.table}: {finding.fault}  ({mend})")
    out.print("all is well" if not findings else f"{len(findings)} faults")


def in_bytes(size: int) -> str:
    """A size as people read it."""
    amount = float(size)
    for unit in ("B", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.2f} GB"


def print_document(document: Document) -> None:
    """A document with its text."""
    out = console()
    out.print(visible(document.title), style="bold")
    out.print(f"{visible(document.uri)}  [{visible(document.id)}]", style="dim")
    if document.date is not None:
        out.print(f"from {document.date} (by its {document.date.told_by})", style="dim")
    if document.valid is not None:
        out.print(f"stood here {document.valid}", style="dim")
    for key, value in document.metadata.items():
        out.print(f"{visible(key)}: {visible(str(value))}", style="dim")
    out.print()
    out.print(safe(document.text))


def print_versions(versions: Sequence[Version]) -> None:
    """The states of a document, oldest first."""
    for one in versions:
        console().print(f"{one.valid}  {visible(one.title)}  {one.characters:,} characters  [{visible(one.id)}]")


def print_neighbours(chunk: Chunk, near: Sequence[Chunk], count: int) -> None:
    """A chunk among the chunks before and after it."""
    out = console()
    for one in near:
        mark = "▶" if one.id == chunk.id else " "
        out.print(
            f"{mark} {one.ordinal + 1} of {count}  {one.start}-{one.end}  [{one.id}]",
            style="bold" if one.id == chunk.id else "dim",
        )
        out.print(_indented(one.text))
        out.print()
