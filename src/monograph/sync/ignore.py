"""Rules for files that are passed over: hidden ones, those of systems and editors, and .monographignore."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from monograph.errors import SourceDamaged
from monograph.read.file import small_text
from monograph.regex import regex

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".monographignore"
MOST_BYTES = 100_000
"""Of an ignore file."""
MOST_PATTERNS = 2_000
"""Lines of an ignore file: each is compared with every name in the folder."""
_STAR, _FOLDERS = "[^/]*", "(?:/.+)?"
"""What pathspec makes of ``*``, and of ``**`` between two folders."""
_NO_SLASH = "[^/"
"""The beginning of a class that fits no slash."""
_CLASS = regex(r"(?<!\\)\[\^(?!/)")
_ANYWHERE = "^(?:.+/)?"
"""What it makes of ``**/`` at the beginning, or of a pattern without a slash."""
_PASSED_OVER = regex(
    r"\.|~\$"  # hidden; locks of Office
    r"|.*(?:~|\.(?:mono(?:-(?:wal|shm|journal|tree))?|sw[op]|tmp|part|crdownload))$"
    r"|(?:thumbs\.db|ehthumbs\.db|desktop\.ini|icon\r|\$recycle\.bin|system volume information|lost\+found|__macosx"
    r"|__pycache__)$",
    re.I | re.S,
)


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of the ignore files in a folder and above it, outermost first."""

    levels: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def at(self, folder: str) -> Rules:
        """The rules with those of one more folder, whose ignore file is there.

        Raises
        ------
        SourceError
            If that cannot be read, has too many lines, or a line of it is no pattern.
        """
        lines = small_text(Path(folder, IGNORE_FILE), MOST_BYTES).splitlines()
        if len(lines) > MOST_PATTERNS:
            raise SourceDamaged(f"it has {len(lines):,} lines", f"shorten it to {MOST_PATTERNS:,}")
        try:
            spec = compiled(lines)
        except (ValueError, re.error) as error:
            raise SourceDamaged(f"a line of it is no pattern: {error}", "correct or delete the line") from error
        return Rules((*self.levels, (folder, spec)))

    def pass_over(self, path: str, name: str, *, is_folder: bool) -> bool:
        """Whether a file or folder is passed over; of ignore files that speak of it, the nearest decides."""
        if _PASSED_OVER.match(name):
            return True
        verdict = False
        for folder, spec in self.levels:
            said = spec.check_file(path[len(folder) :].lstrip("/") + ("/" if is_folder else "")).include
            verdict = verdict if said is None else said
        return verdict


def compiled(lines: Iterable[str]) -> GitIgnoreSpec:
    """Compile patterns as Git has them, so that a name is compared with each in bounded time."""
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    patterns = [GitIgnoreSpecPattern(line) for line in lines if line]
    for one in patterns:
        if one.regex is not None:
            one.regex = re.compile(without_backtracking(one.regex.pattern))
    return GitIgnoreSpec(patterns, backend="simple")


def without_backtracking(expression: str) -> str:
    """Let each ``*`` and ``**`` of a pattern but the last end at the first place that fits.

    Where what follows does not fit behind the first place, it fits behind no later one: the last wildcard of a folder,
    or of the pattern, takes in what lies between. So nothing is tried twice, and a name that does not fit is refused
    without a search through all combinations. A class (``[!a]``) fits no slash, as in Git.
    """
    expression = _CLASS.sub(_NO_SLASH, expression)
    head, *pieces = expression.split(_STAR)
    for at, piece in enumerate(pieces, 1):
        within = at < len(pieces) and "/" not in piece.replace(_NO_SLASH, "")
        head += f"(?>{_STAR}?{piece})" if within else _STAR + piece
    head, *pieces = head.split(_FOLDERS)
    if pieces and head.startswith(_ANYWHERE):
        head = f"^(?>(?:.+?/)??{head.removeprefix(_ANYWHERE)}(?=/))"
    for at, piece in enumerate(pieces, 1):
        head += f"(?>(?:/.+?)??{piece}(?=/))" if at < len(pieces) else _FOLDERS + piece
    return head
