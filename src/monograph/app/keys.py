"""The key of an encrypted file: from the environment, or asked for on a terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from monograph.errors import InputError

VARIABLE = "MONOGRAPH_KEY"


def key_of(file: Path) -> str | None:
    """What a file is to be opened with: ``MONOGRAPH_KEY``, or what is typed where the file looks encrypted, or none."""
    given = os.environ.get(VARIABLE)
    if given or not sys.stdin.isatty():
        return given or None
    from monograph.store.file.encryption import may_be_encrypted

    if not may_be_encrypted(file):
        return None
    return _typed(f"key of {file}: ")


def key_to_decrypt(file: Path) -> str:
    """The key of a file that must have one. Raises InputError if there is nowhere to take it from."""
    given = os.environ.get(VARIABLE)
    if given:
        return given
    if not sys.stdin.isatty():
        raise InputError("no key was given", f"set {VARIABLE}, or run this in a terminal, which asks for it")
    return _typed(f"key of {file}: ")


def new_key(file: Path) -> str:
    """A key for a file that has none; what is typed is asked for twice. Raises InputError as above."""
    given = key_to_decrypt(file)
    if not os.environ.get(VARIABLE) and _typed("the same again: ") != given:
        raise InputError("these are two different keys", "type the same one twice")
    return given


def _typed(prompt: str) -> str:
    from getpass import getpass

    try:
        return getpass(prompt)
    except EOFError as error:
        raise InputError("no key was given", "type it, or set MONOGRAPH_KEY") from error
