"""The tests run a second time with a key (``make test-encrypted``): every file that a test makes is then encrypted.

Where MONOGRAPH_TEST_KEY is set, every file that is opened without a key gets that one, unless it is a plain file already:
here, and in every Python that a test starts, which finds ``sitecustomize`` beside this by PYTHONPATH. It is looked for
at every opening: tests that are about keys take it away for as long as they last.
"""

from __future__ import annotations

import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

VARIABLE = "MONOGRAPH_TEST_KEY"
WITHOUT_A_FILE = (
    "architecture",
    "chunk",
    "judge",
    "kernel",
    "kernel_batches",
    "kernel_clusters",
    "kernel_codes",
    "kernel_course",
    "linear",
    "llm_extract",
    "openai_compatible",
    "packaging",
    "page_scripts",
    "pattern_extract",
    "read",
    "reading",
    "reckoning",
    "resolve",
    "stop",
    "text_pass_compared",
    "text_pass_graph",
    "text_pass_names",
    "text_pass_walk",
    "tokens",
    "wheel",
)
"""Modules of tests that open no file, which a key changes nothing for: they are left out where there is one."""

NOT_OF_A_FILE = (
    "compact_index",
    "evaluate",
    "evidence",
    "examples",
    "formats",
    "minirag",
    "page",
    "page_axe",
    "page_writing",
    "pictures",
    "reader_missing",
    "shelf",
    "shelf_building",
    "shelf_catalogue",
    "shelf_commands",
    "shelf_files",
    "shelf_graph",
    "shelf_graph_writing",
    "shelf_objects",
    "shelf_paid",
    "shelf_publish",
    "shelf_ray",
    "shelf_rounds",
    "shelf_served",
    "shelf_sync",
    "vector_batches",
)
"""Modules of tests of what stands before a file or beside it, or is reckoned of what was read out of it: of readers, of
codes of vectors, of measures, of the page in a browser, and of shelves, whose shards have no key. They are left out as
well."""
_DATABASE = "monograph.store.database"


def key() -> str | None:
    """The key that tests run with, if any."""
    return os.environ.get(VARIABLE) or None


def begin() -> None:
    """Give the key to every file from now on, and see to it that Pythons that are started do, too."""
    if key() is None:
        return
    paths = [str(Path(__file__).parent), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    if _DATABASE in sys.modules:
        _give_key(sys.modules[_DATABASE])
    else:
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Waits for the store to be imported."""

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _DATABASE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        assert spec is not None and spec.loader is not None
        spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    def __init__(self, usual: Loader) -> None:
        self._usual = usual

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._usual.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._usual.exec_module(module)
        _give_key(module)


def _give_key(module: Any) -> None:
    from monograph.store import encryption

    usual, derived, rounds = module.Database.__init__, encryption.derive, encryption.ROUNDS

    def derive(given: str, salt: bytes) -> Any:
        encryption.ROUNDS = rounds if key() is None else 1  # What a key costs is measured elsewhere.
        return derived(given, salt)

    def init(self: Any, path: Path, *, key: Any = None, **options: Any) -> None:
        usual(self, path, key=_for(path, module) if key is None else key, **options)

    module.Database.__init__, encryption.derive = init, derive


def _for(path: Path, module: Any) -> str | None:
    identity = module._identity(path)
    if module._opened[identity]:  # Its bytes are not to be read: that would drop its locks.
        return key() if identity in module._salts else None
    if not os.path.isfile(path):  # It never raises.
        return key()
    with path.open("rb") as file:
        head = file.read(16)
    return None if b"SQLite format 3\0".startswith(head) else key()
