"""Which files of a folder are passed over: hidden ones, those of systems and editors, what .monographignore says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from monograph.errors import SourceDamaged
from monograph.read.file import small_text
from monograph.regex import regex

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".monographignore"
MOST_BYTES = 1_000_000
"""Of an ignore file."""
_PASSED_OVER = regex(
    r"\.|~\$"  # hidden; locks of Office
    r"|.*(?:~|\.(?:mono(?:-(?:wal|shm|journal|tree))?|sw[op]|tmp|part|crdownload))$"
    r"|(?:thumbs\.db|ehthumbs\.db|desktop\.ini|icon\r|\$recycle\.bin|system volume information|lost\+found|__macosx"
    r"|__pycache__)$",
    re.I | re.S,
)


@dataclass(frozen=True, slots=True)
class Rules:
    """What is passed over below a folder, by the ignore files in it and above it, outermost first."""

    levels: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def at(self, folder: str) -> Rules:
        """The rules with those of one more folder, whose ignore file is there.

        Raises
        ------
        SourceError
            If that cannot be read, or a line of it is no pattern.
        """
        from pathspec import GitIgnoreSpec

        lines = small_text(Path(folder, IGNORE_FILE), MOST_BYTES).splitlines()
        try:
            spec = GitIgnoreSpec.from_lines(lines)
        except (ValueError, re.error) as error:
            raise SourceDamaged(f"a line of it is no pattern: {error}", "mend or delete the line") from error
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
