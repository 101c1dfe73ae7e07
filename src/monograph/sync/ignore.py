"""Rules for ignored files: hidden files, files of systems and editors, and patterns in .monographignore."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
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
"""Largest size of an ignore file, in bytes."""
MOST_PATTERNS = 2_000
"""Largest number of lines of an ignore file.

The number is limited because each pattern is compared with every path below the folder of the ignore file.
"""
_STAR, _FOLDERS = "[^/]*", "(?:/.+)?"
"""pathspec's regular expressions for two wildcards: ``*``, and ``**`` between the names of two folders."""
_NO_SLASH = "[^/"
"""Beginning of a character class that does not match a slash."""
_NEGATED_CLASS = regex(r"(?<!\\)\[\^(?!/)")
_ANYWHERE = "^(?:.+/)?"
"""Beginning of pathspec's regular expression for patterns without a slash, and for patterns that begin with ``**/``."""
_IGNORED_NAME = regex(
    r"\.|~\$"  # hidden; locks of Office
    r"|.*(?:~|\.(?:mono(?:-(?:wal|shm|journal|tree))?|sw[op]|tmp|part|crdownload))$"
    r"|(?:thumbs\.db|ehthumbs\.db|desktop\.ini|icon\r|\$recycle\.bin|system volume information|lost\+found|__macosx"
    r"|__pycache__)$",
    re.I | re.S,
)


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules that apply in a folder: the patterns of its own ignore file and of the ignore files in all folders above.

    ``levels`` has one pair for each ignore file: (folder, patterns). The outermost folder comes first.
    """

    levels: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def at(self, folder: str) -> Rules:
        """Return the rules that apply in ``folder``: these rules, and the patterns of the folder's ignore file.

        These rules must be the rules of the folder above. If the folder has no ignore file, they are returned as is.

        Raises
        ------
        SourceError
            If the ignore file cannot be read, has too many lines, or has an invalid pattern.
        """
        file = Path(folder, IGNORE_FILE)
        if not os.path.lexists(file):
            return self
        lines = small_text(file, MOST_BYTES).splitlines()
        if len(lines) > MOST_PATTERNS:
            raise SourceDamaged(f"it has {len(lines):,} lines", f"shorten it to {MOST_PATTERNS:,}")
        try:
            spec = compiled(lines)
        except (ValueError, re.error) as error:
            raise SourceDamaged(
                f"one of its lines is not a valid pattern: {error}", "correct or delete the line"
            ) from error
        return Rules((*self.levels, (folder, spec)))

    def is_ignored(self, path: str, name: str, *, is_folder: bool) -> bool:
        """Return whether a file or folder is ignored. ``name`` is the last part of ``path``.

        If several ignore files have a pattern that matches, the innermost of them decides.
        """
        if _IGNORED_NAME.match(name):
            return True
        verdict = False
        for folder, spec in self.levels:
            included = spec.check_file(path[len(folder) :].lstrip("/") + ("/" if is_folder else "")).include
            verdict = verdict if included is None else included
        return verdict


def rules_below(root: Path, path: Path, extend: Callable[[Rules, str], Rules] = Rules.at) -> Rules | None:
    """Return the rules for a path below a root. Return None if a sync ignores the path, or a folder above the path.

    The rules are those of the ignore files in the root and in every folder between the root and the path.
    ``extend(rules, folder)`` returns ``rules`` and, in addition, the patterns of the ignore file in ``folder``.
    """
    rules, folder = Rules(), root
    for name in path.relative_to(root).parts:
        rules = extend(rules, str(folder))
        folder = folder / name
        if rules.is_ignored(str(folder), name, is_folder=folder != path or path.is_dir()):
            return None
    return rules


def compiled(lines: Iterable[str]) -> GitIgnoreSpec:
    """Compile patterns of Git's ignore format, so that comparing a name with a pattern takes bounded time."""
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    patterns = [GitIgnoreSpecPattern(line) for line in lines if line]
    for pattern in patterns:
        if pattern.regex is not None:
            pattern.regex = re.compile(without_backtracking(pattern.regex.pattern))
    return GitIgnoreSpec(patterns, backend="simple")


def without_backtracking(expression: str) -> str:
    """Rewrite the regular expression of an ignore pattern so that it matches the same names without backtracking.

    Every ``*`` except the last one in a folder's name, and every ``**`` except the last one in the pattern, becomes an
    atomic group. It matches as little text as possible, and is never extended later. Extending it could not help: the
    last wildcard, which is not atomic, can match any text in between. So a name that does not match is rejected without
    trying all combinations of lengths. A negated class (``[!a]``) does not match a slash, as in Git.
    """
    expression = _NEGATED_CLASS.sub(_NO_SLASH, expression)
    head, *pieces = expression.split(_STAR)
    for index, piece in enumerate(pieces, 1):
        within = index < len(pieces) and "/" not in piece.replace(_NO_SLASH, "")
        head += f"(?>{_STAR}?{piece})" if within else _STAR + piece
    head, *pieces = head.split(_FOLDERS)
    if pieces and head.startswith(_ANYWHERE):
        head = f"^(?>(?:.+?/)??{head.removeprefix(_ANYWHERE)}(?=/))"
    for index, piece in enumerate(pieces, 1):
        head += f"(?>(?:/.+?)??{piece}(?=/))" if index < len(pieces) else _FOLDERS + piece
    return head
