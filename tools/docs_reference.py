"""mkdocs hook that makes parts of the pages from the code: commands, HTTP operations and values, modules.

A page marks the place of a part by a line such as ``*make docs lists the commands here.*``.
"""

from __future__ import annotations

import ast
import functools
import html
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "src" / "monograph"
PACKAGES = [
    "library",
    "sync",
    "read",
    "derive",
    "write",
    "store",
    "search",
    "explore",
    "answer",
    "vectors",
    "graph",
    "tree",
    "shelf",
]
"""Packages whose modules are listed."""
COMMON = {"--help", "--json"}
"""Options of every command. The page explains them once."""
MARK = re.compile(r"^\*make docs lists the (\w+) here\.\*$", re.MULTILINE)

ROLE = re.compile(r":\w+:<code>~?")
"""Beginning of a reference in a docstring, such as ``:meth:`add```, as HTML shows it."""


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return a page with its marks replaced by the parts."""
    return MARK.sub(lambda mark: "\n".join(PARTS[mark[1]]()), markdown)


def on_page_content(content: str, **_: object) -> str:
    """Return a page with references such as ``:meth:`add``` in docstrings shown as code."""
    return ROLE.sub(r"<code>", content)


def commands() -> Iterator[str]:
    """Yield each command as its ``--help`` explains it, in the order of ``monograph --help``."""
    import typer

    from monograph.app.cli import app

    group = typer.main.get_command(app)
    return _commands(group, typer.Context(group, info_name="monograph"))


def _commands(group: Any, outer: Any) -> Iterator[str]:
    for name in group.list_commands(outer):
        command = group.get_command(outer, name)
        context = type(outer)(command, info_name=name, parent=outer)
        rows, usage = [], [context.command_path, "[OPTIONS]"]
        for parameter in command.get_params(context):
            if parameter.param_type_name == "argument":
                argument = parameter.metavar + "..." * (parameter.nargs == -1)
                usage.append(argument if parameter.required else f"[{argument}]")
            if COMMON.isdisjoint(parameter.opts):
                names, meaning = parameter.get_help_record(context)
                rows.append([f"`{names}`", _plain(meaning)])
        is_group = hasattr(command, "list_commands")
        yield f"### {context.command_path.removeprefix('monograph ')}\n"
        yield f"```text\n{' '.join(usage)}{' COMMAND' * is_group}\n```\n"
        for paragraph in command.help.split("\n\n"):
            # "\b" marks an example: see monograph.app.group.as_written.
            is_example = paragraph.startswith("\b\n")
            yield f"```text\n{inspect.cleandoc(paragraph[1:])}\n```\n" if is_example else f"{_plain(paragraph)}\n"
        yield from _table(["argument or option", "meaning"], rows)
        if is_group:
            yield from _commands(command, context)


def _plain(text: str) -> str:
    """Return text on one line, without characters that Markdown interprets."""
    return re.sub(r"([\\`*_|])", r"\\\1", html.escape(" ".join(text.split()), quote=False))


def _table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows) if rows else ():
        yield f"| {' | '.join(row)} |"
    yield ""


@functools.cache
def openapi() -> dict[str, Any]:
    """Return the description of the API that ``monograph serve`` serves."""
    from monograph.app.serve.application import build_api
    from monograph.app.serve.served import Served
    from monograph.loopback import Credentials

    return build_api(Served({}), Credentials("no request is sent", 0)).openapi()


def statuses() -> Iterator[str]:
    """Yield the statuses of errors, which all operations share."""
    responses = openapi()["paths"]["/api/v1/search"]["get"]["responses"]
    return _table(["status", "means"], [[one, responses[one]["description"]] for one in responses if one[0] in "45"])


def operations() -> Iterator[str]:
    """Yield each operation with its parameters and its response."""
    description = openapi()
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield f"### {method.upper()} {path.removeprefix('/api/v1')}\n\n{operation['summary']}\n"
            parameters = {one["name"]: (one["schema"], one["required"]) for one in operation.get("parameters", ())}
            body = operation.get("requestBody", {"content": {}})["content"].get("application/json")
            if body:
                schema = description["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]
                required = schema.get("required", ())
                parameters |= {name: (one, name in required) for name, one in schema["properties"].items()}
            rows = []
            for name, (schema, is_required) in parameters.items():
                default = json.dumps(schema.get("default", ""))
                note = "Required." if is_required else f"Default: `{default}`." if default not in ('""', "[]") else ""
                rows.append([f"`{name}`", _type(schema), f"{schema.get('description', '')} {note}".strip()])
            yield from _table(["parameter", "type", "meaning"], rows)
            status, response = next(iter(operation["responses"].items()))
            answers = [
                _type(one.get("schema", {})) if kind == "application/json" else f"`{kind}`"
                for kind, one in response.get("content", {}).items()
            ]
            yield f"Response: {', '.join([status, *answers])}.\n"


def values() -> Iterator[str]:
    """Yield each value of requests and responses with its fields."""
    for name, schema in sorted(openapi()["components"]["schemas"].items()):
        if name.startswith("Body_"):
            continue
        # Descriptions have numpy's form: text, then sections such as "Parameters".
        text, *sections = re.split(r"\n\n(?=\w+\n-+\n)", re.sub(r":\w+:`(.*?)`", r"`\1`", schema["description"]))
        meanings: dict[str, str] = {}
        for names, meaning in re.findall(r"^(\w[\w, ]*):\n((?: +.+\n?)+)", "\n".join(sections), re.MULTILINE):
            meanings |= dict.fromkeys(names.split(", "), " ".join(meaning.split()))
        yield f"### {name}\n\n{text}\n"
        rows = [[f"`{one}`", _type(field), meanings.get(one, "")] for one, field in schema["properties"].items()]
        yield from _table(["field", "type", "meaning"], rows)


def _type(schema: dict[str, Any]) -> str:
    """Return the type of a JSON value in words, with links to values."""
    match schema:
        case {"$ref": reference}:
            return f"[{reference.rpartition('/')[2]}](#{reference.rpartition('/')[2].lower()})"
        case {"anyOf": kinds}:
            return " or ".join(map(_type, kinds))
        case {"enum": names}:
            return ", ".join(f"`{name}`" for name in names)
        case {"prefixItems": kinds}:
            return f"[{', '.join(map(_type, kinds))}]"
        case {"items": kind}:
            return f"list of {_type(kind)}"
    return str(schema.get("type", "any JSON value"))


def modules() -> Iterator[str]:
    """Yield the first line of the docstring of each module."""
    for package in PACKAGES:
        paths = sorted(path for path in (SOURCE / package).rglob("*.py") if path.name != "__init__.py")
        docstrings = [ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "" for path in paths]
        names = [f"`{path.relative_to(SOURCE).as_posix()}`" for path in paths]
        yield f"### {package}/\n"
        firsts = [" ".join(docstring.partition("\n\n")[0].split()) for docstring in docstrings]
        yield from _table(["module", "holds"], [list(row) for row in zip(names, firsts, strict=True)])


PARTS = {function.__name__: function for function in (commands, statuses, operations, values, modules)}
"""Functions that make the parts, by the word in the mark."""
