"""Questions about the files of build/folder (folder_fetch.py), and a check that they still hold.

Each line of folder_questions.jsonl is a question of the half ``dev`` or ``held-out``. A question with an answer names a
file and a quote from it that contains the answer; other files may say the same. A question without an answer has the
kind ``absent`` (none of the words in ``subject`` stands in any file) or ``apart`` (its two words stand in files, but
never within APART characters of each other). The questions were written from passages at random places, in other words
than the passages', before anything was indexed.
"""

from __future__ import annotations

import json
import re
import subprocess
import unicodedata
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from folder_fetch import FILES
from folder_words import content, form, reference
from machine import console, show

QUESTIONS = Path(__file__).with_suffix(".jsonl")
APART = 1_000


def questions() -> list[dict[str, Any]]:
    """Return all questions, in the order of their ids."""
    return [json.loads(line) for line in QUESTIONS.read_text().splitlines()]


def plain(text: str) -> str:
    """Return the text with one space between words and with compatible characters unified."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text))


def texts() -> Iterator[tuple[str, str]]:
    """Yield path and plain text, navigation included, of every file of the folder that has text."""
    for path in sorted(path for path in FILES.rglob("*") if path.is_file()):
        try:
            text = " ".join(reference(path)) if form(path) else content(path).decode()
        except (UnicodeDecodeError, subprocess.CalledProcessError):
            continue
        yield str(path.relative_to(FILES)), plain(text)


def stand_together(text: str, subject: list[str]) -> bool:
    """Return whether two words of the subject stand in the text within APART characters of each other."""
    found = sorted((place.start(), word) for word in subject for place in re.finditer(re.escape(word), text))
    return any(one[1] != other[1] and other[0] - one[0] < APART for one, other in pairwise(found))


def main() -> None:
    """Print how many questions there are, and each question whose quote is missing or whose subject stands in a file."""
    asked = questions()
    counts = Counter((one["language"], one["half"], "answered" if one["answer"] else "not") for one in asked)
    languages = sorted({one["language"] for one in asked})
    columns = [(half, kind) for half in ("dev", "held-out") for kind in ("answered", "not")]
    rows = [[language, *(str(counts[language, *column]) for column in columns)] for language in languages]
    show(f"{len(asked)} questions", ["language", *(f"{half}, {kind}" for half, kind in columns)], rows)
    quoted = {one["id"] for one in asked if one["answer"]}
    for path, text in texts():
        lower = text.casefold()
        for one in asked:
            if one["answer"] and one["file"] == path and plain(one["quote"]) in text:
                quoted.discard(one["id"])
            elif one["kind"] == "apart" and stand_together(lower, one["subject"]):
                console.print(f"{one['id']}: {one['subject']} stand together in {path}")
            elif one["kind"] == "absent" and any(word in lower for word in one["subject"]):
                console.print(f"{one['id']}: {one['subject']} stands in {path}")
    for missing in sorted(quoted):
        console.print(f"{missing}: the quote is not in its file")


if __name__ == "__main__":
    main()
