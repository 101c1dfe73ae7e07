"""XLS, MSG and ODS files, as small as their readers accept."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

Tree: TypeAlias = Mapping[str, "bytes | Tree"]
"""Streams (bytes) and storages (nested trees) of a compound file, by name."""

_SECTOR, _SMALL_SECTOR, _SMALL = 512, 64, 4096
_END, _FREE, _TABLE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


def compound(tree: Tree) -> bytes:
    """Return a compound file (MS-CFB, version 3) of at most 6 MB."""
    names: list[str] = ["Root Entry"]
    links: list[tuple[int, int]] = [(_FREE, _FREE)]  # (next entry of the same storage, first entry inside this one)
    contents: list[bytes | None] = [None]

    def enter(storage: Tree, owner: int) -> None:
        before = None
        for name, value in storage.items():
            at = len(names)
            names.append(name)
            links.append((_FREE, _FREE))
            contents.append(value if isinstance(value, bytes) else None)
            if before is None:
                links[owner] = (links[owner][0], at)
            else:
                links[before] = (at, links[before][1])
            before = at
            if not isinstance(value, bytes):
                enter(value, at)

    enter(tree, 0)
    sectors, small = _Chains(_SECTOR), _Chains(_SMALL_SECTOR)
    starts = [_END if not data else (small if len(data) < _SMALL else sectors).add(data) for data in contents]
    starts[0] = sectors.add(bytes(small.data)) if small.data else _END
    small_table = sectors.add(struct.pack(f"<{len(small.table)}I", *small.table)) if small.table else _END
    directory = b"".join(
        struct.pack("<64sHBBIII36xIQ", name.encode("utf-16-le"), 2 * len(name) + 2, 5 if not at else 1 if data is None else 2, 1,
                    _FREE, *link, start, len(small.data) if not at else len(data or b""))
        for at, (name, link, data, start) in enumerate(zip(names, links, contents, starts, strict=True))
    )  # fmt: skip
    catalogue = sectors.add(directory)
    tables = 1
    while (len(sectors.table) + tables) * 4 > tables * _SECTOR:
        tables += 1
    first = len(sectors.table)
    table = [*sectors.table, *[_TABLE] * tables]
    table += [_FREE] * (tables * _SECTOR // 4 - len(table))
    header = struct.pack(
        "<8s16x5H6x9I109I", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6, 0, tables, catalogue, 0, _SMALL,
        small_table, -(-len(small.table) * 4 // _SECTOR), _END, 0, *(first + one for one in range(tables)), *[_FREE] * (109 - tables),
    )  # fmt: skip
    return header + bytes(sectors.data) + struct.pack(f"<{len(table)}I", *table)


class _Chains:
    """Sectors of one size, and the allocation table that links them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.data = bytearray()
        self.table: list[int] = []

    def add(self, data: bytes) -> int:
        """Append data and return its first sector."""
        first = len(self.table)
        count = -(-len(data) // self.size)
        self.table += [*range(first + 1, first + count), _END]
        self.data += data.ljust(count * self.size, b"\0")
        return first


def xls(sheets: Mapping[str, Sequence[Sequence[str | float]]]) -> bytes:
    """Return a workbook in BIFF8 with texts and numbers."""

    def record(kind: int, data: bytes = b"") -> bytes:
        return struct.pack("<HH", kind, len(data)) + data

    def cell(row: int, column: int, value: str | float) -> bytes:
        if isinstance(value, str):
            words = struct.pack("<HB", len(value), 1) + value.encode("utf-16-le")
            return record(0x0204, struct.pack("<HHH", row, column, 0) + words)
        return record(0x0203, struct.pack("<HHHd", row, column, 0, value))

    bodies = [
        record(0x0809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0))
        + b"".join(cell(row, column, value) for row, line in enumerate(rows) for column, value in enumerate(line))
        + record(0x000A)
        for rows in sheets.values()
    ]
    begin = record(0x0809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0)) + record(0x0042, struct.pack("<H", 1200))
    listed = [struct.pack("<BBBB", 0, 0, len(name), 1) + name.encode("utf-16-le") for name in sheets]
    at = len(begin) + sum(len(one) + 8 for one in listed) + 4
    bound = b""
    for one, body in zip(listed, bodies, strict=True):
        bound += record(0x0085, struct.pack("<I", at) + one)
        at += len(body)
    return compound({"Workbook": begin + bound + record(0x000A) + b"".join(bodies)})


def msg(
    sender: tuple[str, str], to: str, subject: str, body: str, sent: datetime, attached: Mapping[str, bytes]
) -> bytes:
    """Return an Outlook message (MS-OXMSG); ``sender`` is a name and an address."""

    def properties(head: bytes, values: Mapping[int, str | bytes | int | datetime]) -> dict[str, bytes]:
        entries, streams = b"", {}
        for name, value in values.items():
            if isinstance(value, datetime):
                entries += struct.pack("<HHIQ", 0x40, name, 6, int((value.timestamp() + 11_644_473_600) * 10**7))
            elif isinstance(value, int):
                entries += struct.pack("<HHIII", 0x03, name, 6, value, 0)
            else:
                kind, data = (0x1F, value.encode("utf-16-le")) if isinstance(value, str) else (0x102, value)
                entries += struct.pack("<HHIII", kind, name, 6, len(data) + 2 * (kind == 0x1F), 0)
                streams[f"__substg1.0_{name:04X}{kind:04X}"] = data
        return {**streams, "__properties_version1.0": head + entries}

    files = {
        f"__attach_version1.0_#{at:08X}": properties(bytes(8), {0x3707: name, 0x3701: data, 0x3705: 1})
        for at, (name, data) in enumerate(attached.items())
    }
    receiver = properties(bytes(8), {0x3001: to, 0x39FE: to, 0x3003: to, 0x0C15: 1})
    head = struct.pack("<8xIIII8x", 1, len(files), 1, len(files))
    known: dict[int, str | bytes | int | datetime] = {
        0x0037: subject,
        0x0C1A: sender[0],
        0x0C1F: sender[1],
        0x1000: body,
        0x0039: sent,
        0x001A: "IPM.Note",
    }
    return compound({"__recip_version1.0_#00000000": receiver, **files, **properties(head, known)})


def ods(sheets: Mapping[str, Sequence[Sequence[str | float]]]) -> bytes:
    """Return an OpenDocument spreadsheet; a string that begins with ``=`` is a date."""

    def cell(value: str | float) -> str:
        if isinstance(value, float):
            return f'<table:table-cell office:value-type="float" office:value="{value}"><text:p>{value}</text:p></table:table-cell>'
        if value.startswith("="):
            return f'<table:table-cell office:value-type="date" office:date-value="{value[1:]}"><text:p>{value[1:]}</text:p></table:table-cell>'
        return f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'

    tables = "".join(
        f'<table:table table:name="{name}">'
        + "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
        + "</table:table>"
        for name, rows in sheets.items()
    )
    names = " ".join(
        f'xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"' for one in ("office", "table", "text")
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "content.xml",
            f"<office:document-content {names}><office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body></office:document-content>",
        )
        archive.writestr("META-INF/manifest.xml", '<m xmlns="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>')
    return made.getvalue()
