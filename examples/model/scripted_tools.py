"""Which tools the scripted model calls, and how it fills their arguments and the schemas of answers: by rules alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"|„([^“]+)“")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Called:
    """A tool that the model calls; arguments as it writes them, which may be no JSON where that was told."""

    name: str
    arguments: str


def call_for(body: Mapping[str, Any], question: str, words: Callable[[str], set[str]]) -> Called | None:
    """The tool that a request makes the model call, if any.

    One that is asked for by name; with ``required`` the one whose name and description share most words with the last
    question; else that one as long as it shares any, no more once a tool has replied.
    """
    offered = [tool["function"] for tool in body.get("tools") or ()]
    choice = body.get("tool_choice", "auto")
    if not offered or choice == "none":
        return None
    if isinstance(choice, dict):
        chosen = next(one for one in offered if one["name"] == choice["function"]["name"])
    else:
        shared = [len(words(question) & words(_described(one))) for one in offered]
        if choice == "auto" and (not max(shared) or body["messages"][-1]["role"] == "tool"):
            return None
        chosen = offered[shared.index(max(shared))]
    return Called(chosen["name"], json.dumps(filled(chosen.get("parameters") or {}, question), ensure_ascii=False))


def answer_in_form(wanted: Mapping[str, Any], question: str) -> str | None:
    """An answer as ``response_format`` wants it; None where it wants a text."""
    if wanted.get("type") == "json_schema":
        return json.dumps(filled(wanted["json_schema"]["schema"], question), ensure_ascii=False)
    if wanted.get("type") == "json_object":  # the keys stand in the question
        return json.dumps(dict.fromkeys(_quoted(question), question), ensure_ascii=False)
    return None


def filled(schema: Mapping[str, Any], question: str) -> Any:
    """A value for a schema: numbers of the question in turn, texts that it quotes in turn, and then all of it."""
    return _value(schema, schema, _quoted(question), iter(_NUMBER.findall(question)), question)


def _value(
    schema: Mapping[str, Any], root: Mapping[str, Any], quoted: list[str], numbers: Iterator[str], question: str
) -> Any:
    if "$ref" in schema:
        schema = root[schema["$ref"].split("/")[1]][schema["$ref"].split("/")[2]]
    for name in ("anyOf", "oneOf", "allOf"):
        if name in schema:
            return _value(schema[name][0], root, quoted, numbers, question)
    if schema.get("enum"):
        return next((one for one in schema["enum"] if str(one) in question), schema["enum"][0])
    kind = schema.get("type", "object")
    if kind in ("integer", "number"):
        number = float(next(numbers, "0"))
        return int(number) if kind == "integer" else number
    if kind == "boolean":
        return False
    if kind == "array":
        return [_value(schema.get("items") or {"type": "string"}, root, quoted, numbers, question)]
    if kind == "string":
        return quoted.pop(0) if quoted else question
    wanted: Sequence[str] = schema.get("required") or ()
    properties = schema.get("properties") or {}
    return {name: _value(properties[name], root, quoted, numbers, question) for name in wanted}


def _described(tool: Mapping[str, Any]) -> str:
    return f"{tool['name'].replace('_', ' ')} {tool.get('description', '')}"


def _quoted(question: str) -> list[str]:
    return ["".join(found) for found in _QUOTED.findall(question)]
