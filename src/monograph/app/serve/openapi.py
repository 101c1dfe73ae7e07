"""The description of the API, made from its routes and the classes of their values."""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import re
import sys
import types
from collections.abc import Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from monograph import __version__, values
from monograph.app.serve.faults import Fault
from monograph.app.serve.parameters import fields_of, without_none
from monograph.app.serve.route import BASE, Bytes, Route, Streamed
from monograph.dates.span import TimeSpan
from monograph.regex import regex
from monograph.values import Answer, BestSentence, Context

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", TimeSpan: "string"}
_PARAMETERS = regex(r"Parameters\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-+\n|\Z)", re.DOTALL)
_ENTRY = regex(r"^(\w+(?:, \w+)*):\n((?:    .*\n?|\n)+)", re.MULTILINE)

DROPPED: dict[type, tuple[str, ...]] = {Context: ("hits",)}
"""Fields that are not written."""
ADDED: dict[type, dict[str, Any]] = {Answer: {"confidence": float, "best": BestSentence | None}}
"""What is written besides the fields."""
OPTIONAL: dict[type, tuple[str, ...]] = {Context: ("best",)}
"""What the value within another value lacks."""


class Schemas:
    """JSON schemas of classes, each once, by name."""

    def __init__(self) -> None:
        self.made: dict[str, Any] = {}

    def of(self, hint: Any) -> dict[str, Any]:
        """The schema of a type."""
        inner, optional = without_none(hint)
        if optional:
            return {"anyOf": [self.of(inner), {"type": "null"}]}
        origin = get_origin(inner)
        if inner in _PLAIN:
            return {"type": _PLAIN[inner]}
        if origin is Literal:
            return {"type": "string", "enum": list(get_args(inner))}
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(one) for one in get_args(inner)]}
        if origin in (tuple, list):
            return self._list(inner)
        if origin in (dict, collections.abc.Mapping):
            return {"type": "object"}
        return self._named(inner) if dataclasses.is_dataclass(inner) else {}

    def _list(self, hint: Any) -> dict[str, Any]:
        parts = [one for one in get_args(hint) if one is not Ellipsis]
        if get_origin(hint) is tuple and len(parts) > 1:
            size = len(parts)
            return {
                "type": "array",
                "prefixItems": [self.of(one) for one in parts],
                "minItems": size,
                "maxItems": size,
            }
        return {"type": "array", "items": self.of(parts[0])}

    def _named(self, kind: Any) -> dict[str, Any]:
        name = kind.__name__
        if name not in self.made:
            self.made[name] = {}  # A class may hold values of its own.
            told = told_of(kind)
            types_of = hints_of(kind)
            hints = {one.name: types_of[one.name] for one in dataclasses.fields(kind)}
            hints |= ADDED.get(kind, {})
            kept = {key: hint for key, hint in hints.items() if key not in DROPPED.get(kind, ())}
            self.made[name] = {
                "type": "object",
                "description": sentence_of(kind),
                "properties": {
                    key: {**self.of(hint), **({"description": told[key]} if key in told else {})}
                    for key, hint in kept.items()
                },
                "required": [key for key in kept if key not in OPTIONAL.get(kind, ())],
            }
        return {"$ref": f"#/components/schemas/{name}"}


def hints_of(kind: type) -> dict[str, Any]:
    """Return the types of a class's fields. Modules of values import some of them for the type checker alone."""
    known = {name: getattr(values, name) for name in values.__all__}
    return get_type_hints(kind, known | vars(sys.modules[kind.__module__]))


def sentence_of(kind: Any) -> str:
    """What a class is, by the first paragraph of its docstring."""
    return inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def told_of(kind: Any) -> dict[str, str]:
    """What the docstring of a class says of its fields."""
    found = _PARAMETERS.search(inspect.cleandoc(kind.__doc__ or ""))
    if found is None:
        return {}
    return {
        name: " ".join(entry[2].split()) for entry in _ENTRY.finditer(found[1] + "\n") for name in entry[1].split(", ")
    }


def described(routes: Sequence[Route]) -> dict[str, Any]:
    """The whole description, by OpenAPI 3.1."""
    schemas = Schemas()
    schemas.of(Fault)
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(BASE + route.path, {})[route.method.lower()] = _operation(route, schemas)
    paths[f"{BASE}/session"] = {
        "post": {"summary": "Exchange the token for a cookie.", "responses": {"204": {"description": "the cookie"}}},
        "delete": {"summary": "Take the cookie back.", "responses": {"204": {"description": "done"}}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Monograph", "version": __version__},
        "security": [{"token": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "monograph_PORT"},
            },
            "schemas": dict(sorted(schemas.made.items())),
        },
    }


def _operation(route: Route, schemas: Schemas) -> dict[str, Any]:
    made: dict[str, Any] = {"operationId": route.answer.__name__, "summary": route.summary}
    if route.body:
        made["requestBody"] = {"required": True, "content": {"application/octet-stream": {}}}
    if route.method == "POST" and not route.body:
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": schemas.of(route.asks)}}}
        schemas.made[route.asks.__name__]["required"] = [
            name for name, (_, must) in fields_of(route.asks).items() if must
        ]
    else:
        told = told_of(route.asks)
        defaults = {one.name: one.default for one in dataclasses.fields(route.asks)}
        made["parameters"] = [
            {
                "name": name,
                "in": "query",
                "required": must,
                "schema": _with_default(schemas.of(hint), None if must else defaults[name]),
                **({"description": told[name]} if name in told else {}),
            }
            for name, (hint, must) in fields_of(route.asks).items()
        ]
    fault = {"application/json": {"schema": {"$ref": "#/components/schemas/Fault"}}}
    made["responses"] = {
        str(route.status): {"description": route.summary, "content": _content(route, schemas)},
        "default": {"description": "What went wrong.", "content": fault},
    }
    return made


def _with_default(schema: dict[str, Any], default: Any) -> dict[str, Any]:
    return {**schema, "default": default} if isinstance(default, str | int | float) else schema


def _content(route: Route, schemas: Schemas) -> dict[str, Any]:
    if route.gives in (Bytes, Streamed):
        return {kind: {} for kind in route.kinds}
    if route.streams:
        events = {"text/event-stream": {"schema": {"type": "string"}}}
        if route.last is None:
            return events
        return {"application/json": {"schema": schemas.of(route.last)}, **events}
    if route.body:
        return {"application/json": {"schema": schemas.of(route.last)}}
    return {"application/json": {"schema": schemas.of(route.gives)}}
