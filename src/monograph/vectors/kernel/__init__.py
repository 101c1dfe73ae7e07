"""The inner loops of vector search, compiled: documented in ``_kernel.pyi``.

Clusters and graphs are bytes: see :mod:`monograph.vectors.cluster`. Functions raise TypeError or ValueError for
arguments of a wrong type or shape, and :class:`DamagedBytes` for damaged stored bytes. The index translates
DamagedBytes into an error that names the file.
"""

try:
    from monograph.vectors.kernel._kernel import (
        ALL,
        ENOUGH,
        PAUSED,
        Arena,
        Course,
        DamagedBytes,
        Pool,
        checksum,
        encode,
        graph_check,
        graph_insert,
        graph_remove,
        levels,
        nearest_signs,
        scan,
        top_k,
        use_level,
        walk,
    )
except ImportError as error:
    raise ImportError(
        f"the compiled module monograph.vectors.kernel._kernel cannot be loaded ({error}): install a wheel for this "
        "Python, or build for it: pip install --force-reinstall --no-cache-dir monograph"
    ) from error

__all__ = [
    "ALL", "ENOUGH", "PAUSED", "Arena", "Course", "DamagedBytes", "Pool", "checksum", "encode", "graph_check",
    "graph_insert", "graph_remove", "levels", "nearest_signs", "scan", "top_k", "use_level", "walk",
]  # fmt: skip
