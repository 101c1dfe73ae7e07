"""Random bad inputs: texts, numbers, JSON of the wrong types, changed bytes."""

from __future__ import annotations

import json
import random
import struct
from typing import Any

NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 7, 127, 255, 256, 65_535, 65_536, 10**6, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**32, 2**53 + 1,
    2**62, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**30, 10**400, -(10**400), 0.0, -0.0, 0.5, 1.5, -1.5,
    1e-320, 1e16, 1e308, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
TEXTS = (
    "", " ", "\x00", "a\x00b", "\n", "\u2028", "\ufeff", "\ud800", "a\udc80z", "\U0010ffff", "\u202eabc", "e\u0301", "İ", "ß",
    "ﬁ", "\u200d", "null", "true", "1", "1e999", "NaN", "'", '"', "';--", '" OR 1=1', "*", "a*", "^a", "NEAR(a b)", "AND",
    "a AND", "NOT", "(", ")", "{", "{a}", "title:", "-a", "+a", ":", "::", ",", "=", "%", "_", "%s", "{chunk}", "{0}", "?", "?1",
    "\\", "..", "../..", "/", "//", "~", "$", "$document", "$and", "$x", "tree:detail=0.5", "Ann", "Anna Calder", "INV-2024",
    "the", "who found the comet?", '"the comet"', '"', '""', '"a" "b', "2031-03-02", "0x10", "1,000", "№ 7", "x" * 300, "ab " * 2_000,
    "a" * 70_000, "é" * 5_000, "🙂" * 900, "日本語の本文", "نص عربي", "हिन्दी पाठ", "Ann-" * 400, "(" * 3_000, '"' * 3_001, "a." * 2_000,
)  # fmt: skip


def number(chosen: random.Random) -> Any:
    """Draw a number, mostly an extreme one."""
    kind = chosen.randrange(4)
    if kind == 0:
        return chosen.randrange(-3, 12)
    if kind == 1:
        return chosen.uniform(-2, 2)
    if kind == 2:
        return chosen.choice((1, -1)) * 2 ** chosen.randrange(70)
    return chosen.choice(NUMBERS)


def text(chosen: random.Random) -> str:
    """Draw a text: any characters, punctuation, or some of ``TEXTS``."""
    kind = chosen.randrange(6)
    if kind == 0:
        return "".join(chr(chosen.randrange(0x110000)) for _ in range(chosen.randrange(12)))
    if kind == 1:
        return "".join(
            chosen.choice(" \"'()*:^-+{}[],.=<>$%\\/?!&|~`#@;\t\r\n\x00ab1") for _ in range(chosen.randrange(40))
        )
    if kind == 2:
        return chosen.choice((" ", "", ", ", '"', " AND ")).join(
            chosen.choice(TEXTS) for _ in range(chosen.randrange(4))
        )
    return chosen.choice(TEXTS)


def scalar(chosen: random.Random) -> Any:
    """Draw a JSON value that is neither a list nor an object."""
    return chosen.choice((text, number, text, number, lambda _: None, lambda _: True, lambda _: False))(chosen)


def tree(chosen: random.Random, depth: int = 3) -> Any:
    """Draw any JSON value, rarely one that is nested too deeply."""
    kind = chosen.randrange(12)
    if kind == 0 and depth == 3:
        return nested(chosen, chosen.choice((30, 34, 200, 900, 1_100, 5_000)))
    if depth and kind < 4:
        return [tree(chosen, depth - 1) for _ in range(chosen.randrange(5))]
    if depth and kind < 7:
        return {text(chosen): tree(chosen, depth - 1) for _ in range(chosen.randrange(4))}
    return scalar(chosen)


def nested(chosen: random.Random, depth: int, key: str = "not") -> Any:
    """Draw a value inside ``depth`` nested lists or objects."""
    value: Any = scalar(chosen)
    is_list = chosen.random() < 0.5
    for _ in range(depth):
        value = [value] if is_list else {key: value}
    return value


def altered(value: Any, chosen: random.Random) -> Any:
    """Return a JSON value with one part replaced, removed, repeated or stored under another key."""
    if not isinstance(value, list | dict) or not value or chosen.random() < 0.25:
        return tree(chosen)
    at = chosen.choice(list(value)) if isinstance(value, dict) else chosen.randrange(len(value))
    result = dict(value) if isinstance(value, dict) else list(value)
    kind = chosen.randrange(8)
    if kind == 0:
        del result[at]
    elif kind == 1 and isinstance(result, dict):
        result[text(chosen)] = result.pop(at)
    elif kind == 1:
        result[at:at] = result[at : at + 1] * chosen.choice((1, 2, 500))
    elif kind == 2:
        result[at] = tree(chosen)
    else:
        result[at] = altered(result[at], chosen)
    return result


def written(value: Any) -> str:
    """Return a value as JSON, or 100,000 opening brackets if ``json.dumps`` fails."""
    try:
        return json.dumps(value)
    except (RecursionError, ValueError):
        return "[" * 100_000


def shown(value: Any) -> str:
    """Return a value as text for a message."""
    try:
        return ascii(value)
    except (RecursionError, ValueError):
        return "what is nested too deep, or too large a number"


def changed(data: bytes, chosen: random.Random, numbers: bool = False) -> bytes:
    """Return bytes with some changed, removed or repeated; with ``numbers``, half of the changes replace a number."""
    work = bytearray(data)
    for _ in range(chosen.choice((1, 1, 2, 4, 32))):
        at = chosen.randrange(len(work) + 1)
        length = min(chosen.choice((1, 2, 8, 64, 1024)), len(work) - at)
        kind = chosen.randrange(10 if numbers else 5)
        if kind == 0:
            work[at : at + length] = chosen.randbytes(length)
        elif kind == 1:
            del work[at : at + length]
        elif kind == 2:
            work[at:at] = work[at : at + length] * chosen.choice((1, 2, 16))
        elif kind == 3:
            work[at : at + length] = bytes([chosen.choice((0, 0x20, 0x28, 0x3C, 0x7B, 0xFF))]) * length
        elif kind == 4:
            digits = str(chosen.choice((0, -1, 2**31, 2**63, 10**30))).encode()
            work[at : at + len(digits)] = digits
        elif len(work) >= 8:
            near = chosen.choice((len(work), min(len(work), 64)))
            _put(work, chosen.randrange(near // 4) * 4, chosen)
    return bytes(work)


def _put(work: bytearray, at: int, chosen: random.Random) -> None:
    """Replace the 4- or 8-byte integer or float at an offset."""
    size = chosen.choice("IIIfqd")
    room = struct.calcsize(f"<{size}")
    if at + room > len(work):
        return
    if size in "fd":
        packed = struct.pack(f"<{size}", chosen.choice((0.0, -1.0, 1e30, float("inf"), float("nan"), 1e-30)))
    else:
        (stored,) = struct.unpack_from(f"<{size}", work, at)
        drawn = chosen.choice(
            (stored + 1, stored - 1, 0, 1, 2**31 - 1, 2**31, 2**32 - 1, len(work), chosen.randrange(300))
        )
        packed = struct.pack("<Q", drawn % 2**64)[:room]
    work[at : at + room] = packed
