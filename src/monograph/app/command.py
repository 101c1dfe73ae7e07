"""The decorator of commands, their common options, the parsing of arguments, and the exit codes."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from typer._click.globals import get_current_context  # typer exports no other name for it
from typer.core import TyperArgument

from monograph.app import options, output
from monograph.errors import (
    InputError,
    InvalidDocument,
    InvalidFilter,
    MonographError,
    NameTaken,
    NotFound,
    NotOnShelf,
    OutsideView,
)
from monograph.regex import regex
from monograph.values.arguments import shown

if TYPE_CHECKING:
    from monograph.shelf import Archive
    from monograph.values import OnProgress, Report

SUFFIX = ".mono"
_EQUAL = regex(r"\s*([^\s=<>!]+)=(?!=)(\S.*)", re.DOTALL)
FAILED = 1
WRONG_USAGE = 2
DONE_WITH_PROBLEMS = 3
INTERRUPTED = 130

_FILE_DEPENDENT = (InvalidDocument, NameTaken, NotFound, NotOnShelf, OutsideView)
"""Errors with the exit code FAILED, not WRONG_USAGE: the arguments may be valid for another file."""


def warn_of_no_hits(k: int) -> None:
    """Print a warning if ``k`` is 0: a search for 0 hits finds nothing."""
    if k == 0:
        output.print_line("-k 0 asks for no hits: nothing will be found", stderr=True)


def query_and_filter(
    archive: Archive, query: str, where: list[str] | None, k: int
) -> tuple[str, dict[str, Any] | None]:
    """Return (query, filter) of a search, and warn of arguments with which nothing is found.

    Such arguments are a ``k`` of 0, an empty query, and a filter key that no document has. Similar keys are suggested.
    The query ``-`` is read from standard input. :func:`combine_filters` makes the filter from ``where``.
    """
    if query == "-":
        try:
            query = sys.stdin.buffer.read().decode("utf-8-sig").strip()
        except UnicodeDecodeError as error:
            raise InputError(f"standard input is not UTF-8: {error}", "convert it with iconv -t utf-8") from error
        if not query:
            hint = "pipe a query into the command, or write the query in place of -"
            raise InputError("standard input is empty", hint)
    condition = combine_filters(where or [])
    warn_of_no_hits(k)
    if k and not query.strip():
        output.print_line("the query is empty: nothing will be found", stderr=True)
    missing = getattr(archive, "missing_keys", None)
    for key, similar in (missing(condition) if condition is not None and missing is not None else {}).items():
        perhaps = f"; perhaps {', '.join(map(shown, similar))}" if similar else ""
        output.print_line(f"no document has the key {shown(key)}{perhaps}", stderr=True)
    return query, condition


class Result(NamedTuple):
    """Result of a command.

    - ``value``: printed as JSON with ``--json``.
    - ``show``: the lines to print without ``--json``, or a function that prints them.
    - ``problems``: if True, the exit code is 3.
    """

    value: Any
    show: list[str] | Callable[[], None]
    problems: bool = False


def report_result(report: Report, path: Path | str, *remarks: str, **more: Any) -> Result:
    """Return the result of a command that changed the file or shelf at ``path``.

    ``remarks`` are lines that are printed after the report. ``more`` has fields that are added to the report's JSON.
    """

    def show() -> None:
        output.print_report(report, str(path))
        for remark in remarks:
            output.print_line(remark)
        output.print_problems(report.problems)

    return Result(output.as_json(report) | more if more else report, show, problems=bool(report.problems))


def command(work: Callable[..., Result | None]) -> Callable[..., None]:
    """Wrap a function as a command: add ``--json``, print its result, and turn errors into exit codes.

    With ``--json``, the command prints the value of the result as JSON. If the function has a parameter ``quiet``,
    ``--json`` sets it to True. A function that prints its own result has a parameter ``json_output``, and returns None.
    """
    signature = inspect.signature(work, eval_str=True)
    own_parameters = [parameter for name, parameter in signature.parameters.items() if name != "json_output"]
    option = inspect.Parameter("json_output", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=options.Json)

    @wraps(work)
    def run(*, json_output: bool, **arguments: Any) -> None:
        from monograph.store.file.errors import translate_system_errors

        if "quiet" in arguments:
            arguments["quiet"] |= json_output
        if "json_output" in signature.parameters:
            arguments["json_output"] = json_output
        try:
            _refuse_swapped()
            with translate_system_errors("the file"):
                result = work(**arguments)
                if result is None:
                    return
                if json_output:
                    output.print_json(result.value)
                elif isinstance(result.show, list):
                    for line in result.show:
                        output.print_line(line)
                else:
                    result.show()
        except MonographError as error:
            hint = output.shell_hint(error.hint)
            if json_output:
                output.print_json({"error": error.message, "hint": hint, "kind": type(error).__name__})
            else:
                output.print_line(f"error: {error.message}", style="red", stderr=True)
                if hint:
                    output.print_line(f"  try: {hint}", stderr=True)
            is_wrong_usage = isinstance(error, InputError) and not isinstance(error, _FILE_DEPENDENT)
            raise typer.Exit(WRONG_USAGE if is_wrong_usage else FAILED) from None
        except KeyboardInterrupt:
            message = "interrupted: everything stored so far is safe; run the same command to continue"
            output.print_line(message, stderr=True)
            raise typer.Exit(INTERRUPTED) from None
        if result.problems:
            raise typer.Exit(DONE_WITH_PROBLEMS)

    run.__signature__ = signature.replace(parameters=[*own_parameters, option])  # type: ignore[attr-defined]
    return run


def _refuse_swapped() -> None:
    """Raise InputError if another argument comes before the file, as in ``search comet notes.mono``."""
    context = get_current_context(silent=True)
    if context is None:
        return
    arguments = [parameter.name for parameter in context.command.params if isinstance(parameter, TyperArgument)]
    if arguments[:1] != ["file"]:
        return
    first, *values = (context.params[str(name)] for name in arguments)
    first = str(first)
    if first.endswith(SUFFIX) or "://" in first or os.path.isfile(first):  # noqa: PTH113 - it need not be a path
        return
    if os.path.isdir(first):  # noqa: PTH112
        from monograph.shelf import is_shelf

        if is_shelf(first):
            return
    words = [str(text) for value in values for text in (value if isinstance(value, list | tuple) else [value]) if text]
    for file in words:
        if file.endswith(SUFFIX) and os.path.isfile(file):  # noqa: PTH113
            others = [word for word in (first, *words) if word != file]
            raise InputError(
                f"FILE comes first: {first} is not a .mono file, but {file} is",
                shlex.join([*context.command_path.split(), file, *others]),
            )


@contextmanager
def working(phase: str, *, quiet: bool) -> Iterator[OnProgress | None]:
    """Yield a callback that shows the progress of work, and let SIGTERM interrupt the work as Ctrl-C does.

    Work that was stored before an interruption is kept. With ``quiet``, None is yielded. ``phase`` names the work in
    the output.
    """
    is_main = threading.current_thread() is threading.main_thread()
    previous_handler = signal.signal(signal.SIGTERM, signal.default_int_handler) if is_main else None
    try:
        with output.progress(phase, quiet=quiet) as on_progress:
            yield on_progress
    finally:
        if previous_handler is not None:
            signal.signal(signal.SIGTERM, previous_handler)


def combine_filters(written: Sequence[str]) -> dict[str, Any] | None:
    """Return one filter that requires all filters in ``written``, or None if ``written`` is empty.

    Each filter is a text of the form ``key operator value``, ``key=value`` or JSON.
    """
    return {"and": [_one_filter(text) for text in written]} if written else None


def _one_filter(text: str) -> dict[str, Any]:
    from monograph.where import TIMES

    key, operator, value = "", "", text
    if not text.lstrip().startswith("{"):
        equal = _EQUAL.fullmatch(text)
        if equal and equal[1] in TIMES:
            return {equal[1]: equal[2]}
        parts = [equal[1], "==", equal[2]] if equal else text.split(maxsplit=2)
        if len(parts) != 3:
            hint = "write 'key operator value' with spaces, or a JSON object"
            raise InvalidFilter(f"{shown(text)} is not a filter", hint)
        key, operator, value = parts
    try:
        parsed = json.loads(value)
    except json.JSONDecodeError as error:
        if not key:
            hint = 'quote it: \'{"year": {">=": 2020}}\''
            raise InvalidFilter(f"{shown(text)} is not JSON: {error}", hint) from error
        parsed = value
    except (ValueError, RecursionError) as error:
        problem = f"{shown(value)} is nested too deeply, or has too long a number"
        raise InvalidFilter(problem, "simplify the filter") from error
    return {key: {operator: parsed}} if key else dict(parsed)
