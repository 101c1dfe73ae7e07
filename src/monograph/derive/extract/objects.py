"""Parser of records in an answer's JSON, which may be complete, one object a line, cut off, or slightly invalid."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from json_repair import repair_json

from monograph.derive.extract.kinds import kind_of
from monograph.derive.extract.record import MAX_RECORDS, Record, Tag, field_of_key, from_keys, section_of
from monograph.regex import regex

_MAX_DEPTH = 8
_MAX_ATTEMPTS = 300
_MAX_OBJECT = 2_000
"""Most characters of an invalid object that is repaired. A longer one is cut first, as some repairs are quadratic."""
_OPENING = regex(r"[{\[](?=\s*[{\[\"'\w])")
_FLAT = regex(r"\{[^{}]*\}?")


def read_objects(answer: str) -> list[Record]:
    """Return the entities and relations in the JSON values of an answer, as records.

    If a value is broken, the records of each object in it that can be parsed or repaired are returned.
    """
    decoder = json.JSONDecoder(strict=False)
    records: list[Record] = []
    unread = []
    position = attempts = 0
    while (opening := _OPENING.search(answer, position)) and attempts < _MAX_ATTEMPTS and len(records) < MAX_RECORDS:
        try:
            value, end = decoder.raw_decode(answer, opening.start())
        except (ValueError, RecursionError):
            attempts += 1
            unread.append(answer[position : opening.end()])
            position = opening.end()
        else:
            unread.append(answer[position : opening.start()])
            records.extend(_walk(value, section_of(answer[max(0, opening.start() - 40) : opening.start()]), 0))
            position = end
    unread.append(answer[position:])
    # Objects that are not quite JSON: single quotes, a comma too many, cut off.
    for literal in islice(_FLAT.findall("".join(unread)), MAX_RECORDS):
        with suppress(ValueError, RecursionError):  # The object is nested too deeply.
            value = repair_json(literal[:_MAX_OBJECT], return_objects=True)
            record = from_keys(value) if isinstance(value, dict) else None
            records += [record] if record else []
    return records[:MAX_RECORDS]


def _walk(value: Any, section: Tag | None, depth: int) -> Iterator[Record]:
    """Yield the records in a JSON value, down to _MAX_DEPTH. ``section`` and ``depth`` say where the value is."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        texts = [str(item) for item in value if isinstance(item, str | int | float)]
        if value and len(texts) == len(value):
            yield from _read_texts(texts, section)
            return
        for item in value:
            if isinstance(item, str) and section == "entity":
                yield Record("entity", (item,))
            else:
                yield from _walk(item, section, depth + 1)
    elif isinstance(value, dict):
        record = from_keys(value)
        if record is not None:
            yield record
        for key, item in value.items():
            if record is None or isinstance(item, list | dict):
                yield from _walk_member(key, item, None if record else section, depth)


def _read_texts(texts: list[str], section: Tag | None) -> Iterator[Record]:
    """Yield the records of a list of texts: one (``["Ada", "person"]``), or one for each name (``["Ada", "Bob"]``)."""
    tag = section_of(texts[0])
    if tag is not None and len(texts) > 2:
        yield Record(tag, tuple(texts[1:]))
    elif section == "relation":
        if len(texts) > 1:
            yield Record("relation", tuple(texts))
    elif len(texts) in (2, 3) and kind_of(texts[1]):
        yield Record("entity", tuple(texts))
    elif section == "entity" or not any(text[:1].islower() or text.isdigit() for text in texts):
        yield from (Record("entity", (text,)) for text in texts)


def _walk_member(key: str, value: Any, section: Tag | None, depth: int) -> Iterator[Record]:
    """Yield the records of one member of a JSON object. Its key is a section's title, a kind or a name."""
    inner = section_of(key) or section
    if isinstance(value, str):
        # A name and its description.
        if section == "entity" and not field_of_key(key):
            yield Record("entity", (key, value))
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        # A kind and the names of its entities.
        if kind_of(key) and not field_of_key(key):
            yield from (Record("entity", (item, key)) for item in value)
        elif section_of(key) is not None:
            yield from _read_texts(value, inner)
    elif isinstance(value, dict) and section == "entity" and section_of(key) is None:
        # A name and an object with the other fields.
        record = from_keys({"name": key} | value)
        if record is not None:
            yield record
    elif isinstance(value, list | dict):
        yield from _walk(value, inner, depth + 1)
