"""Folders of the project that tests read."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
DATA = TESTS / "data"
EXAMPLES = ROOT / "examples"
SHARED = ROOT.parent / "shared"
"""Evaluation data, next to the project and not part of it."""
