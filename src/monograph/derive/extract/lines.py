"""Parser of the entities and relations in the lines of a model's answer.

A line may have fields divided by bars (``|``), or be a tuple, a table row, a bullet, or a key with a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monograph.derive.extract.kinds import kind_of
from monograph.derive.extract.record import MAX_RECORDS, Record, Tag, field_of_key, from_keys, section_of
from monograph.regex import regex

MAX_LINE = 2_000
"""Maximum number of characters read from a line."""

_REWRITTEN = (
    # ends of an answer or a record: <|COMPLETE|>, ##, {record_delimiter}, <br>, )("entity"
    (regex(r"<\|?\s*/?complet\w*\s*\|?>|[{<](?:record|completion)_delimiter[}>]|<br\s*/?>", re.IGNORECASE), "\n"),
    (regex(r"(?<![<|#])#{2,}(?![#|>])"), "\n"),
    (regex(r"\)[\s,;]*(?=\(\s*[\"'“]?(?:entity|relation))", re.IGNORECASE), "\n"),
    # separators of fields: <|>, <|#|>, <||>, <#>, <|, |>, {tuple_delimiter}, other bars
    (regex(r"<[#\\ ]*\|[|#\\ ]*>|<#>|<\|[|#]{0,4}|[|#]{0,4}\|>|[{<]tuple_delimiter[}>]|[｜¦‖\t]"), "|"),
    (regex(r"\|{2,}"), "|"),
    # a record that begins in the middle of a line
    (
        regex(
            r"(?<=[.!?)\]\"'”\d])[ \t]{0,4}[(\"'“*]{0,4}\b(entity|relation(?:ship)?)\b[\"'”*]{0,4}[ \t]{0,4}\|",
            re.IGNORECASE,
        ),
        r"\n\1|",
    ),
)
_BULLET = regex(r"^\s*(?:[-*•+>–]|\(?\d{1,3}[.):])\s+|^\s*\d{1,3}[.)]\s*(?=\D)")
_TAGGED = regex(
    r"^\W*(entity|entities|relation|relationship|relations|relationships)\b[\s\d\"'”*_)]*([|,;:=(-]?)[\s\"'“(]*(.*)$",
    re.IGNORECASE,
)
_KEYED = regex(r"^\W{0,6}([A-Za-z][A-Za-z _]{0,24})[\d\W]{0,4}?[:=]\s*(\S.*)$")
_DESCRIBED = regex(r"^([^|:(]{1,100}?)\s*[(\[]([^)\]]{2,40})[)\]]\s*(?:[:\-–—,.]+\s*(.*))?$")
_ARROW = regex(r"\s*(?:<?[-=–—]{1,8}>+|→|⟶|⇒|↔)\s*")
_QUOTED = regex(r'"([^"]*)"|“([^”]*)”|\'((?:[^\']|\'(?=\w))*)\'|([\d.]+)')
_RULE = regex(r"^[\s|:\-+=_*.]*$")


def read_lines(answer: str) -> list[Record]:
    """Return the entities and relations in the lines of an answer, as records. Other lines are skipped."""
    for pattern, replacement in _REWRITTEN:
        answer = pattern.sub(replacement, answer)
    records: list[Record] = []
    section: Tag | None = None
    keyed: dict[str, str] = {}
    lines = answer.split("\n")
    for number, raw in enumerate(lines):
        line = _BULLET.sub("", " ".join(raw[:MAX_LINE].replace("**", "").split()), count=1).strip()
        if _RULE.match(line) or line.startswith("```"):
            continue
        pair = _read_key_and_value(line, "source" in keyed)
        if pair is not None:
            meaning = field_of_key(pair[0])
            if meaning in keyed or (meaning in ("name", "source") and from_keys(keyed)):
                records.extend(_finish(keyed))
            keyed[meaning] = pair[1]
            continue
        records.extend(_finish(keyed))
        title = _read_title(line)
        section = title or section
        for record in _read_line(line, section) if title is None else ():
            # If an answer is cut off, only the field after a name shows that the name is complete.
            fewest = 2 if record.tag == "entity" else 3
            if number + 1 < len(lines) or "|" not in line or len(record.fields) >= fewest:
                records.append(record)
        if len(records) >= MAX_RECORDS:
            break
    records.extend(_finish(keyed))
    return records[:MAX_RECORDS]


def _finish(keyed: dict[str, str]) -> Iterator[Record]:
    record = from_keys(keyed)
    keyed.clear()
    if record is not None:
        yield record


def _read_key_and_value(line: str, in_relation: bool) -> tuple[str, str] | None:
    """Return (key, value) of a line such as ``Name: Ada``, or None. ``in_relation``: a ``source`` key came before."""
    match = _KEYED.match(line)
    if match is None or "|" in line or not field_of_key(match[1]) or _ARROW.search(line):
        return None
    section = section_of(match[1])
    # "Relation: …" is a key and its value only after the key of a relation's source.
    if (section == "relation" and not in_relation) or (section == "entity" and re.search(r"[,;(]", match[2])):
        return None
    return match[1], match[2].strip(" \"'“”,")


def _read_title(line: str) -> Tag | None:
    """Return the section, ``entity`` or ``relation``, that a title or table header announces; otherwise None."""
    cells = [cell for cell in _split_cells(line) if cell]
    if len(cells) > 1 and all(field_of_key(cell) or section_of(cell) for cell in cells):
        meanings = {field_of_key(cell) for cell in cells}
        return "relation" if meanings & {"source", "target"} else "entity"
    words = line.strip("#:* ").split()
    if "|" in line or len(line) > 80 or not words or not (line.endswith(":") or len(words) < 4):
        return None
    return section_of(line if line.endswith(":") else words[-1])


def _read_line(line: str, section: Tag | None) -> Iterator[Record]:
    """Yield the records of a line that is not ``key: value``. ``section`` is the current section."""
    tagged = _TAGGED.match(line)
    if tagged is not None and tagged[3]:
        tag: Tag = "relation" if tagged[1].lower().startswith("rel") else "entity"
        fields = _split_fields(tagged[3], tagged[2])
        if len(fields) > 1 or tagged[2] in ("|", ":"):
            yield _make_record(tag, fields)
            return
    cells = _split_cells(line)
    if len(cells) > 2 or (len(cells) == 2 and section):
        guess: Tag = "entity" if len(cells) < 4 or kind_of(cells[1]) else "relation"
        yield _make_record(section or guess, cells)
    elif "|" not in line:
        yield from _read_untagged(line, section)


def _make_record(tag: Tag, fields: list[str]) -> Record:
    """Return a record of ``fields``; a first field such as ``Ada -> Bob`` or ``Ada (person): …`` is split."""
    if len(fields) == 1 and tag == "entity" and (described := _DESCRIBED.match(fields[0])):
        return Record(tag, tuple(part or "" for part in described.groups()))
    if tag == "relation" and fields and _ARROW.search(fields[0]):
        return Record(tag, (*_split_at_arrows(fields[0]), *fields[1:]))
    return Record(tag, tuple(fields))


def _read_untagged(line: str, section: Tag | None) -> Iterator[Record]:
    kind, colon, names = line.partition(":")
    described = _DESCRIBED.match(line)
    if line.startswith(("(", "[")) and len(quoted := _find_quoted(line)) > 1:
        entity = section == "entity" or (section is None and bool(kind_of(quoted[1])))
        if entity or len(quoted) > 2:
            yield Record("entity" if entity else "relation", tuple(quoted))
    elif _ARROW.search(line):
        yield Record("relation", tuple(_split_at_arrows(line)))
    elif described and (section == "entity" or kind_of(described[2])):
        yield Record("entity", tuple(part or "" for part in described.groups()))
    elif colon and len(kind.split()) < 3 and kind_of(kind) and not field_of_key(kind):
        yield from (Record("entity", (name.strip(), kind)) for name in re.split(r"[,;]", names) if name.strip())
    elif section == "entity" and len(kind) < 80:
        yield Record("entity", (kind, "", names.strip()))


def _split_at_arrows(text: str) -> list[str]:
    """Split a line at its arrows: ``Ada -> wrote -> notes: why`` gives the fields Ada, wrote, notes and why."""
    *ends, last = _ARROW.split(text, maxsplit=2)
    end, _, description = last.partition(":")
    fields = [field.strip(" ()[]\"'") for field in (*ends, end, description)]
    return [field for field in fields if field]


def _split_cells(line: str) -> list[str]:
    """Return the cells of a line that bars (``|``) divide; an empty list if the line has no bar."""
    if "|" not in line:
        return []
    cells = [cell.strip() for cell in line.split("|")]
    # Bars at both ends of a table row add no cells.
    return cells[1 if not cells[0] else 0 : -1 if len(cells) > 1 and not cells[-1].strip(" )") else None]


def _split_fields(rest: str, mark: str) -> list[str]:
    """Split ``rest``, the text after *entity* or *relation*, into fields. ``mark`` is the punctuation before it."""
    if "|" in rest:
        return _split_cells(rest)
    if mark == ";" or ";" in rest:
        return [field.strip() for field in rest.split(";")]
    quoted = _find_quoted('"' + rest if rest.count('"') % 2 else rest)
    if len(quoted) > 1:
        return quoted
    if mark in (",", "("):
        return [field.strip() for field in rest.rstrip(") ").split(",", 4)]
    return [rest]


def _find_quoted(text: str) -> list[str]:
    return [next((part for part in match if part), "").strip() for match in _QUOTED.findall(text)]
