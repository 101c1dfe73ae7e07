"""JSON and YAML: reads each record as a paragraph of ``key: value`` lines, whose place is the record's JSON path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from monograph.errors import SourceDamaged, SourceTooLarge
from monograph.read.compose import Composer
from monograph.read.source import Items, SourceFile, needs
from monograph.read.text import decoded
from monograph.regex import regex
from monograph.values import Place

_MOST_VALUES = 5_000_000
_MOST_YAML_VALUES = 200_000
"""Maximum number of values of a YAML file. A few bytes of aliases can expand to more than memory holds."""

_DEEPEST = 100
_NAME = regex(r"[^\W\d]\w*")
_MOST_INLINE_VALUES = 12
"""An object of at most this many values, none of them nested, is written in its parent's paragraph."""


def read_json(opened: SourceFile) -> Items:
    """Yield a JSON file as one document."""
    text = yield from decoded(opened)
    if not text:
        return
    try:
        value = json.loads(text)
    except ValueError as error:
        raise SourceDamaged(f"it is not JSON: {error}", "repair it, or name it .txt to have it read as text") from error
    yield from _document(opened, value, "json")


def read_yaml(opened: SourceFile) -> Items:
    """Yield a YAML file as one document, even if the file has several YAML documents. Tags create no Python objects."""
    with needs("a YAML file", "documents"):
        import yaml
    text = yield from decoded(opened)
    if not text:
        return
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        values = list(yaml.load_all(text, loader))
    except (yaml.YAMLError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise SourceDamaged(
            f"it is not YAML: {reason}", "repair it, or name it .txt to have it read as text"
        ) from error
    yield from _document(opened, values[0] if len(values) == 1 else values, "yaml")


def _document(opened: SourceFile, value: Any, form: str) -> Items:
    composer = Composer()
    for path, lines in _records(value, opened, _MOST_YAML_VALUES if form == "yaml" else _MOST_VALUES):
        composer.place(Place(0, json=path))
        composer.add("\n".join(lines))
    title = value.get("title") if isinstance(value, dict) else None
    yield from composer.items(opened, opened.metadata(form), title if isinstance(title, str) else "")


def _records(value: Any, opened: SourceFile, max_values: int) -> Iterator[tuple[str, list[str]]]:
    """Yield (JSON path, lines) of each object or list with plain values, parents first. ``max_values`` is the limit."""
    stack: list[tuple[str, str, Any, int]] = [("$", "", value, 0)]
    count = 0
    while stack:
        path, name, node, depth = stack.pop()
        opened.check_time()
        if depth > _DEEPEST:
            raise SourceDamaged("it is nested too deeply", "flatten it")
        if not _is_nested(node):
            yield path, [_format_line(name, node)]
            continue
        items = _flatten(node, path)
        count += len(items)
        if count > max_values:
            raise SourceTooLarge(f"it has more than {max_values:,} values", "split it")
        lines = [_format_line(key, item) for key, item, _ in items if not _is_nested(item)]
        if lines:
            yield path, lines
        stack.extend(
            (item_path, key or name, item, depth + 1) for key, item, item_path in reversed(items) if _is_nested(item)
        )


def _format_line(name: str, value: Any) -> str:
    text = ", ".join(_scalar_text(item) for item in value) if isinstance(value, list) else _scalar_text(value)
    return f"{name}: {text}" if name else text


def _flatten(value: dict[Any, Any] | list[Any], path: str) -> list[tuple[str, Any, str]]:
    """Return (name, value, JSON path) of each item. Items of a small inner object get names like ``address.city``."""
    if isinstance(value, list):
        return [("", item, f"{path}[{index}]") for index, item in enumerate(value)]
    items = []
    for key, item in value.items():
        item_path = path + _path_step(str(key))
        # A small flat object is part of the paragraph of the object that contains it.
        is_small = isinstance(item, dict) and 0 < len(item) <= _MOST_INLINE_VALUES
        if is_small and not any(_is_nested(inner) for inner in item.values()):
            items += [
                (f"{key}.{inner_key}", inner_value, item_path + _path_step(str(inner_key)))
                for inner_key, inner_value in item.items()
            ]
        else:
            items.append((str(key), item, item_path))
    return items


def _is_nested(value: Any) -> bool:
    """Return whether a value needs more than one line: an object, or a list that contains objects or lists."""
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict | list) for item in value))


def _path_step(key: str) -> str:
    return f".{key}" if _NAME.fullmatch(key) else f"[{json.dumps(key, ensure_ascii=False)}]"


def _scalar_text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) or value is None else str(value)
