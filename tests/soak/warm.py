"""What every child needs is imported and made once, before any is begun."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

from soak.commands import Life, add, first, put, resummarize, sync
from soak.corpus import opened
from soak.kills import exact, searches
from soak.state import unlike_a_fresh_build


def warm() -> None:
    """Have one short life come to pass in this process, which has no file open afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        life = Life(Path(folder) / "x.mono", Random(0))
        life.folder.mkdir(parents=True)
        for make in (first, add, sync, put, resummarize):
            command = make(life)
            command.run(life.path, lambda _: None)
            life.state = command.after
        with opened(life.path) as monograph:
            assert list(searches(monograph)) == []
        assert exact(life.path, life.state) == []
        assert unlike_a_fresh_build(life.path, life.state, [life.folder]) == []
