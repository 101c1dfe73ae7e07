"""Public names of packages, imported from their modules at first use (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module


def lazy_names(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package that imports its public names at first use.

    `modules` maps each module to the names that the package exports from it, separated by spaces.
    """
    home = {name: module for module, names in modules.items() for name in names.split()}

    def find(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, found)  # Later accesses skip this function.
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home})

    return find, names


@contextmanager
def requires(framework: str, extra: str, package: str) -> Iterator[None]:
    """Raise MissingExtra if an import within the ``with`` block fails because ``framework`` is not installed.

    ``package`` is the package of Monograph that needs the framework. The hint of the error names the ``extra``.
    """
    try:
        yield
    except ImportError as error:
        from monograph.errors import MissingExtra

        raise MissingExtra(f"{package} needs {framework}", f'pip install "monograph[{extra}]"') from error
