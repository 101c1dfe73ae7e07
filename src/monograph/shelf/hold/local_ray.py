"""Ray, if it is installed, and one of few resources on this machine where there is no other."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from monograph.errors import MissingExtra, ShelfUnreachable

_OBJECT_STORE = 128 << 20
"""Bytes for what travels between processes. They are taken when they are needed; more is written to disk."""

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # Else it warns of what it will do one day.
}
_ALONE = {
    # Whatever its name says, this is asked on every system: this machine is then 127.0.0.1, nothing listens on a
    # network, and no other address is sought, which on a machine without a network may take for ever.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}


_starting = threading.Lock()


def ray_module() -> Any:
    """The package.

    Raises
    ------
    MissingExtra
        If it is not installed.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("a shelf on many machines needs Ray", 'pip install "monograph[shelf]"') from error
    return ray


def start(address: str = "", cpus: int | None = None) -> None:
    """Have Ray running for this process: nothing is done where it is.

    Parameters
    ----------
    address:
        Of a cluster, as ``ray.init`` takes it; by default what RAY_ADDRESS says. Without either a Ray is started on
        this machine, which ends with this process, has no dashboard, and listens on 127.0.0.1 alone.
    cpus:
        How many that one is to use; by default all that there are.

    Raises
    ------
    MissingExtra
        If Ray is not installed.
    ShelfUnreachable
        If it cannot be reached, or does not start.
    """
    with _starting:
        _start(address or os.environ.get("RAY_ADDRESS", ""), cpus)


def _start(cluster: str, cpus: int | None) -> None:
    if not cluster:
        for name, value in _ALONE.items():
            os.environ.setdefault(name, value)
    ray = ray_module()
    if ray.is_initialized():
        return
    said: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if not cluster:
        said |= {"num_cpus": cpus, "include_dashboard": False, "object_store_memory": _OBJECT_STORE}
    try:
        _stay(lambda: ray.init(address=cluster or "local", **said))
    except (ConnectionError, OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        where = f"Ray at {cluster}" if cluster else "a Ray of this machine's own"
        raise ShelfUnreachable(
            f"{where} cannot be had: {str(error).strip().splitlines()[0] if str(error).strip() else error!r}",
            "look whether its head node runs, and whether RAY_ADDRESS and RAY_AUTH_MODE are as there"
            if cluster
            else "look into /tmp/ray/session_latest/logs",
        ) from error
    # What it tells of processes that died goes to standard output otherwise, which may be a protocol's. Whoever asks is
    # told by an error, if it comes to that.
    ray._private.worker._worker_logs_enabled = False


def _stay(begin: Callable[[], object]) -> None:
    """Call this in a thread that lives as long as the process.

    The system ends what a thread has started for good when that thread ends, Ray's processes among it. And in a thread
    of its own Ray leaves the handlers of signals alone.
    """
    begun: Future[None] = Future()

    def run() -> None:
        try:
            begin()
        except BaseException as error:
            begun.set_exception(error)
        else:
            begun.set_result(None)
            threading.Event().wait()

    threading.Thread(target=run, name="monograph-ray", daemon=True).start()
    begun.result()
