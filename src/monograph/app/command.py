"""What the commands share: options and how they are read, exit codes, and how an error ends one."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monograph.app import output
from monograph.errors import InputError, InvalidFilter, MonographError
from monograph.regex import regex
from monograph.search.how import strategies
from monograph.values.arguments import shown

if TYPE_CHECKING:
    from monograph.library.monograph import Monograph

_EQUAL = regex(r"\s*([^\s=<>!]+)=(?!=)(\S.*)", re.DOTALL)
DONE_WITH_PROBLEMS = 3
INTERRUPTED = 130

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The .mono file.", show_default=False)]
QueryArgument = Annotated[
    str,
    typer.Argument(metavar="QUERY", help="A question, words, or a code; - reads standard input.", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", help="Draw it as one HTML page that needs no network.", show_default=False)
]
ApiKeyOption = Annotated[
    str,
    typer.Option(
        "--api-key",
        envvar="MONOGRAPH_API_KEY",
        help="For a model's server that asks for one; never stored.",
        show_default=False,
    ),
]

RerankerOption = Annotated[
    str,
    typer.Option(
        "--reranker",
        envvar="MONOGRAPH_RERANKER",
        help="What puts the first hits in order: onnx:FOLDER, rerank:URL#MODEL, or embedder:EMBEDDER.",
        show_default=False,
    ),
]

TrustOption = Annotated[
    bool, typer.Option("--trust", help="Let FILE, from now on, open the models that it names itself.")
]


def how_to_search() -> list[str]:
    """What a shell offers behind --how."""
    return list(strategies())


HowOption = Annotated[
    str,
    typer.Option(
        "--how",
        help=f"How to search: {', '.join(strategies())}; with what it understands: tree:detail=0.5,budget=800.",
        autocompletion=how_to_search,
    ),
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        "-w",
        metavar="FILTER",
        help="Only what meets this: 'year >= 2020', since=2026-03, or a JSON filter. May be repeated.",
        show_default=False,
    ),
]

WithinOption = Annotated[
    list[str] | None,
    typer.Option(
        "--within",
        metavar="KEY=VALUE",
        help="See only documents that meet this: owner=ann, or a filter as --where has it. May be repeated.",
        show_default=False,
    ),
]


HistoryOption = Annotated[
    bool, typer.Option("--history", help="A new FILE keeps former versions of documents, from now on.")
]
VectorIndexOption = Annotated[
    str,
    typer.Option("--vector-index", help="Design of a new FILE's vector index: codes or graph.", show_default=False),
]
AsOfOption = Annotated[
    str,
    typer.Option(
        "--as-of",
        metavar="TIME",
        help="See what it held then, 2026-03 or 2026-03-01T09:30:00Z, where it was made with --history.",
        show_default=False,
    ),
]


def narrowed(monograph: Monograph, within: list[str] | None, as_of: str = "") -> Monograph:
    """A file as --as-of and --within say: as it stood then; what is outside cannot be seen."""
    where = where_of(within or [])
    stood = monograph.as_of(as_of) if as_of else monograph
    return stood if where is None else stood.within(where)


@contextmanager
def outcome(*, as_json: bool) -> Iterator[None]:
    """Turn our errors and an interrupt into a message and an exit code."""
    from monograph.store.refusals import refusals

    try:
        with refusals("the file"):
            yield
    except MonographError as error:
        if as_json:
            output.print_json({"error": error.message, "mend": error.mend, "kind": type(error).__name__})
        else:
            out = output.console(stderr=True)
            out.print(f"error: {error.message}", style="red")
            if error.mend:
                out.print(f"  try: {error.mend}")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        output.console(stderr=True).print(
            "interrupted: what was stored so far is safe; the same command goes on from there"
        )
        raise typer.Exit(INTERRUPTED) from None


def unseen(json_output: bool) -> bool:
    """Whether a progress bar would be seen by no one, or spoil the output."""
    return json_output or not sys.stderr.isatty()


def query_of(written: str) -> str:
    """What is asked for: as it is written, or what standard input holds where that is ``-``.

    Raises
    ------
    InputError
        If nothing is there, or no text in UTF-8.
    """
    if written != "-":
        return written
    try:
        read = sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise InputError(f"standard input is no text in UTF-8: {error}", "convert it with iconv -t utf-8") from error
    if not read:
        raise InputError("standard input is empty", "pipe a query into it, or write the query in place of -")
    return read


def where_of(written: list[str]) -> dict[str, Any] | None:
    """Filters as people write them, all of which must hold: ``key operator value``, ``key=value``, or JSON."""
    return {"and": [_one_filter(text) for text in written]} if written else None


def _one_filter(text: str) -> dict[str, Any]:
    from monograph.where import TIMES

    if text.lstrip().startswith("{"):
        try:
            return dict(_json(text))
        except json.JSONDecodeError as error:
            raise InvalidFilter(
                f"{shown(text)} is not JSON: {error}", 'quote it: \'{"year": {">=": 2020}}\''
            ) from error
    equal = _EQUAL.fullmatch(text)
    if equal and equal[1] in TIMES:
        return {equal[1]: equal[2]}
    parts = [equal[1], "==", equal[2]] if equal else text.split(maxsplit=2)
    if len(parts) != 3:
        raise InvalidFilter(f"{shown(text)} is no filter", "write 'key operator value' with spaces, or a JSON object")
    key, operator, value = parts
    try:
        return {key: {operator: _json(value)}}
    except json.JSONDecodeError:
        return {key: {operator: value}}


def _json(text: str) -> Any:
    """What JSON says. Raises InvalidFilter where it is nested too deeply, or has a number of thousands of digits."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidFilter(
            f"{shown(text)} is nested too deeply, or has too long a number", "make it smaller"
        ) from error
