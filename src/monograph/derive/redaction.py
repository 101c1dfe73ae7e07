"""Removal of API keys from replies of servers."""

from __future__ import annotations

import base64
import re
from urllib.parse import quote

INSTEAD = "[api key]"
"""Text that replaces a key."""

LEAST = 8
"""Fewest characters of a key that counts as a secret. A secret key is removed from errors and from answers, even inside
a word. A shorter key is a placeholder for a server that needs no key. A placeholder is removed from errors only,
as a whole word.
"""

LONGEST_FORM = 12
"""Most characters that one character of a key takes in any form, such as ``%2B`` in a URL."""


class Redaction:
    """Filter that removes an API key from texts: in plain form, and as URLs, JSON, HTML and base64 write it.

    Parameters
    ----------
    key:
        Key in printable ASCII; empty for none.
    """

    def __init__(self, key: str) -> None:
        key = key.strip()
        self._secret = len(key) >= LEAST
        self._longest = LONGEST_FORM * len(key)
        plain = "".join(map(_character_pattern, key))
        if self._secret:
            cores = sorted(_within_base64(key))
            forms = [plain, *(f"[A-Za-z0-9+/_-]{{0,4}}{core}[A-Za-z0-9+/_-]{{0,4}}={{0,2}}" for core in cores)]
        else:
            forms = [rf"(?<!\w)(?:{plain}|{re.escape(base64.b64encode(key.encode()).decode())})(?!\w)"]
        self._pattern = re.compile("|".join(forms)) if key else None

    def in_error(self, text: str, room: int) -> str:
        """Return the first ``room`` characters of a text for an error message, with the key replaced."""
        if self._pattern is None:
            return text[:room]
        looked_at = text[: 2 * room + 2 * self._longest]
        clean = self._pattern.sub(INSTEAD, looked_at)
        if len(looked_at) < len(text):
            clean = clean[: -self._longest]  # The cut text may end with a part of the key.
        return clean[:room]

    def in_answer(self, text: str) -> str:
        """Return an answer of the model with the key replaced. Answers are stored, shown and quoted."""
        return text if self._pattern is None or not self._secret else self._pattern.sub(INSTEAD, text)


def _character_pattern(character: str) -> str:
    """Return a regular expression that matches a character in plain form and as URLs, JSON and HTML write it."""
    code = ord(character)
    pair = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{code:02x}")
    forms = [re.escape(character), f"%{pair}", rf"\\u00{pair}", rf"\\x{pair}", rf"\\{re.escape(character)}"]
    forms += [rf"&#0{{0,4}}{code};", rf"&#[xX]0{{0,4}}{pair};"]
    return f"(?:{'|'.join([*forms, *([re.escape('+')] if character == ' ' else [])])})"


def _within_base64(key: str) -> set[str]:
    """Return regular expressions that find the key in the base64 of any text that contains it."""
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
