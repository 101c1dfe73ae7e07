"""Redaction of API keys in texts of servers."""

from __future__ import annotations

import base64
import re
from urllib.parse import quote

INSTEAD = "[api key]"
"""What stands where a key stood."""

LEAST = 8
"""Characters of the shortest key that is looked for within words, and in answers. A shorter one is no secret, but the
word that servers without keys want to hear."""

LONGEST_FORM = 12
"""Characters that one of a key may be written as."""


class Redaction:
    """Takes a key out of texts: as it is, and as URLs, JSON, HTML and base64 write it.

    Parameters
    ----------
    key:
        Printable ASCII; empty for none.
    """

    def __init__(self, key: str) -> None:
        key = key.strip()
        self._secret = len(key) >= LEAST
        self._longest = LONGEST_FORM * len(key)
        self._found = re.compile("|".join(_forms(key))) if key else None

    def in_error(self, text: str, room: int) -> str:
        """The beginning of a text, as an error may quote it, in so many characters."""
        if self._found is None:
            return text[:room]
        looked_at = text[: 2 * room + 2 * self._longest]
        clean = self._found.sub(INSTEAD, looked_at)
        if len(looked_at) < len(text):
            clean = clean[: -self._longest]  # It may end with the beginning of a key, which tells much of it.
        return clean[:room]

    def in_answer(self, text: str) -> str:
        """Remove the key from an answer, which is kept, shown and quoted."""
        return text if self._found is None or not self._secret else self._found.sub(INSTEAD, text)


def _forms(key: str) -> list[str]:
    plain = "".join(map(_written, key))
    if len(key) < LEAST:
        return [rf"(?<!\w)(?:{plain}|{re.escape(base64.b64encode(key.encode()).decode())})(?!\w)"]
    return [
        plain,
        *(f"[A-Za-z0-9+/_-]{{0,4}}{one}[A-Za-z0-9+/_-]{{0,4}}={{0,2}}" for one in sorted(_within_base64(key))),
    ]


def _written(character: str) -> str:
    """All that a character may be written as."""
    code = ord(character)
    pair = "".join(f"[{one}{one.upper()}]" if one.isalpha() else one for one in f"{code:02x}")
    forms = [re.escape(character), f"%{pair}", rf"\\u00{pair}", rf"\\x{pair}", rf"\\{re.escape(character)}"]
    forms += [rf"&#0{{0,4}}{code};", rf"&#[xX]0{{0,4}}{pair};"]
    return f"(?:{'|'.join([*forms, *([re.escape('+')] if character == ' ' else [])])})"


def _within_base64(key: str) -> set[str]:
    """Return patterns for the base64 of any text that holds the key, whatever is before and behind it."""
    cores = set()
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + key.encode()).decode().rstrip("=")
        core = encoded[(before * 8 + 5) // 6 : (before + len(key)) * 8 // 6]
        cores |= {
            re.escape(core),
            re.escape(core.translate(str.maketrans("+/", "-_"))),
            re.escape(quote(core, safe="")),
        }
    return cores
