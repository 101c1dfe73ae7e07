"""What the machines of a Ray keep of a shelf is dropped on all of them, when something is to be forgotten."""

from __future__ import annotations

import pickle
from collections.abc import Collection
from pathlib import Path

from monograph.errors import MonographError, ShelfUnreachable
from monograph.shelf.hold.local_ray import ray_module, start
from monograph.shelf.place import Place, keep


def keep_everywhere(place: Place, digests: Collection[str], seconds: float = 60.0) -> frozenset[str]:
    """Drop from the caches of all machines that are up whatever is not named.

    A machine that is down keeps what it has: call this again when it is back.

    Parameters
    ----------
    place:
        Of the shelf.
    digests:
        Of what stays: of the objects of the kept versions.
    seconds:
        In which all machines are to answer.

    Returns
    -------
    The digests of what was dropped anywhere.

    Raises
    ------
    ShelfUnreachable
        If a machine does not answer, or cannot drop; what others could drop is dropped.
    """
    start()
    ray = ray_module()
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = ray.remote(_keep)
    home, kept = place.elsewhere, frozenset(digests)
    asked = {
        task.options(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)).remote(
            home, kept
        ): node["NodeID"]
        for node in ray.nodes()
        if node["Alive"]
    }
    ready, late = ray.wait(list(asked), num_returns=len(asked), timeout=seconds)
    dropped: set[str] = set()
    faults = [f"machine {asked[ref][:12]} has not answered after {seconds:g} seconds" for ref in late]
    for ref in ready:
        try:
            found = pickle.loads(ray.get(ref))  # noqa: S301 - of our own processes
        except ray.exceptions.RayError as error:
            found = f"{type(error).__name__}"
        if isinstance(found, str):
            faults.append(f"machine {asked[ref][:12]}: {found}")
        else:
            dropped |= found
    if faults:
        raise ShelfUnreachable(f"not every cache is cleared: {'; '.join(faults)}", "try again when all machines are up")
    return frozenset(dropped)


def _keep(home: Path, digests: frozenset[str]) -> bytes:
    folder = home.expanduser()
    try:
        return pickle.dumps(keep(folder, digests) if folder.is_dir() else frozenset())
    except MonographError as error:
        return pickle.dumps(str(error))
