"""Work that permissions bind, even where root runs the tests."""

from __future__ import annotations

import ctypes
import os
import struct
import traceback
from collections.abc import Callable

import pytest

CAPABILITY_VERSION = 0x20080522
"""The third version of Linux's capabilities: three sets of two words."""


def run_unprivileged(work: Callable[[], int]) -> int:
    """Run work in a process forked from this one, without root's capabilities.

    Returns
    -------
    What the work returned, 0 to 99; 100 if it raised, and 101 if the capabilities cannot be given up.
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
