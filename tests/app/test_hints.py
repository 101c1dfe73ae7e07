"""Hints of errors: their commands can be typed, and on the command line they contain no Python."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer._click.exceptions import UsageError

import monograph
from monograph import errors
from monograph.app.cli import COMMANDS, app
from monograph.app.output import shell_hint
from monograph.values import Finding, Problem
from monograph.write.configuration import ModelSlot

PACKAGE = Path(monograph.__file__).parent
CARRIERS = {name for name, one in vars(errors).items() if isinstance(one, type)} | {Finding.__name__, Problem.__name__}
COMMAND = re.compile(rf"monograph ((?:{'|'.join(COMMANDS)})\b[^;,()]*)")
PYTHON = re.compile(r"\barchive\.|Monograph\.|Settings\(|\w\(\)|\b[a-z_]+=(?:[\[{\"']|True|False|None|…|\.\.\.|$|,)")


def text_of(node: ast.AST) -> str | None:
    """Return the text of a string or f-string with ``word`` in place of its values; None for other nodes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.replace("{path}", "word").replace("{given.spec}", "word").replace("{stored.spec}", "word")
    if isinstance(node, ast.JoinedStr):
        return "".join("word" if isinstance(one, ast.FormattedValue) else str(text_of(one)) for one in node.values)
    return None


def hints() -> Iterator[tuple[str, str]]:
    """Yield (place, text) of each hint in the package: arguments of errors and findings, and variables named hint."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                found = [one.value for one in node.keywords if one.arg == "hint"]
                found += node.args[1:2] if name in CARRIERS else node.args[3:5] if name == ModelSlot.__name__ else []
            elif isinstance(node, ast.Assign) and any("hint" in ast.unparse(one).lower() for one in node.targets):
                walked = list(ast.walk(node.value))
                within = {id(part) for one in walked if isinstance(one, ast.JoinedStr) for part in one.values}
                found = [
                    one for one in walked if isinstance(one, ast.Constant | ast.JoinedStr) and id(one) not in within
                ]
            else:
                continue
            for one in found:
                text = text_of(one)
                if text:
                    yield f"{path.relative_to(PACKAGE)}:{one.lineno}", text


def test_commands_in_hints_can_be_typed() -> None:
    group = typer.main.get_command(app)
    checked, wrong = 0, []
    for place, text in hints():
        for written in COMMAND.findall(text):
            context, words = group.make_context("monograph", ["stats", "x"]), shlex.split(written)
            command: Any = group
            while hasattr(command, "commands") and not words[0].startswith("-"):
                name, command, words = command.resolve_command(context, words)
            try:
                command.make_context(name, words)
            except UsageError as error:
                wrong.append(f"{place}: monograph {written}: {error.format_message()}")
            except typer.Exit:
                pass  # --help
            checked += 1
    assert wrong == []
    assert checked > 30


def test_hints_on_the_command_line_speak_of_no_python() -> None:
    found = list(hints())
    assert len(found) > 250
    assert [(place, shell_hint(text)) for place, text in found if PYTHON.search(shell_hint(text))] == []


def test_a_hint_for_python_is_not_printed() -> None:
    assert shell_hint("monograph build a.mono; in Python: archive.graph.build()") == "monograph build a.mono"
    assert shell_hint("in Python: open it again with Monograph.open") == ""
    assert shell_hint("try again") == "try again"
