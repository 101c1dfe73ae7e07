"""The root that a folder becomes when it is synced for the first time."""

from __future__ import annotations

from pathlib import Path

from monograph.values import Root


def root_at(folder: Path) -> Root:
    return Root(folder.name, str(folder))
