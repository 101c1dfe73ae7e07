"""Functions that run without root's capabilities, so that file permissions apply even if root runs the tests."""

from __future__ import annotations

import ctypes
import os
import struct
import traceback
from collections.abc import Callable

import pytest

CAPABILITY_VERSION = 0x20080522
"""Version 3 of Linux's capabilities: three sets of two 32-bit words."""


def run_unprivileged(work: Callable[[], int]) -> int:
    """Run a function in a fork of this process, without root's capabilities; skip the test if root keeps them.

    Returns
    -------
    The function's result, 0 to 99, or 100 if it raised.
    """
    child = os.fork()
    if child == 0:
        code = 100
        try:
            code = work() if os.geteuid() != 0 or _give_up_capabilities() else 101
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == 101:
        pytest.skip("root keeps its capabilities on this system")
    return code


def _give_up_capabilities() -> bool:
    capset = getattr(ctypes.CDLL(None), "capset", None)
    return capset is not None and capset(struct.pack("Ii", CAPABILITY_VERSION, 0), struct.pack("6I", *[0] * 6)) == 0
