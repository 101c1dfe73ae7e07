"""Imported before Monograph, it leaves nothing compiled to be imported: what runs then are the Python twins."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder


class NothingCompiled(MetaPathFinder):
    """Native modules, whose names begin with an underscore, are not there."""

    def find_spec(self, name: str, *_: object) -> None:
        if name.startswith("monograph.") and name.rpartition(".")[2].startswith("_"):
            raise ModuleNotFoundError(f"{name} is not to be had", name=name)


sys.meta_path.insert(0, NothingCompiled())
