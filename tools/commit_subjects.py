"""Check commit subjects: imperative, capitalised, at most 72 characters, no full stop.

Without an argument, it checks the last 30 commits. With a file, it checks the message in it, as a commit-msg hook does.
"""

import re
import subprocess
import sys
from pathlib import Path

MOST = 72
NOT_IMPERATIVE = re.compile(r"\w+(ed|ing|tion)\b")
IMPERATIVES = {"Bring", "Embed", "Feed", "Mention", "Need", "Seed", "Speed"}
"""Imperatives that :data:`NOT_IMPERATIVE` matches by mistake."""


def faults(subject: str) -> list[str]:
    """Return the faults of a subject."""
    first = subject.partition(" ")[0]
    return [
        fault
        for fault, found in {
            f"it has more than {MOST} characters": len(subject) > MOST,
            "it ends with a full stop": subject.endswith("."),
            "it does not begin with a capital letter": not first[:1].isupper(),
            f"{first!r} is not an imperative": NOT_IMPERATIVE.fullmatch(first) is not None and first not in IMPERATIVES,
        }.items()
        if found
    ]


def main() -> int:
    """Print the faults; return 1 if there are any."""
    if len(sys.argv) > 1:
        subjects = Path(sys.argv[1]).read_text().splitlines()[:1]
    else:
        command = ["git", "log", "--no-merges", "-30", "--format=%s"]
        subjects = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    found = [f"{subject}: {fault}" for subject in subjects for fault in faults(subject)]
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
