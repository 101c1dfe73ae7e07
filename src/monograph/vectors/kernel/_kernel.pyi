from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

def levels() -> list[str]: ...
def use_level(name: str) -> None: ...
def checksum(data: bytes) -> int: ...
def top_k(
    vectors: npt.NDArray[np.float32], query: npt.NDArray[np.float32], k: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]: ...
def encode(
    vectors: npt.NDArray[np.float32], centre: npt.NDArray[np.uint8], scale: float, planes: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]: ...
def scan(
    bodies: Sequence[bytes],
    query: npt.NDArray[np.float32],
    scores: npt.NDArray[np.float32],
    ids: npt.NDArray[np.int64],
    filled: int,
    k: int,
    allowed: npt.NDArray[np.uint8] | None,
    trusted: bool,
) -> tuple[int, tuple[int, ...], int]: ...
def walk(
    body: bytes,
    graph: bytes,
    query: npt.NDArray[np.float32],
    scores: npt.NDArray[np.float32],
    ids: npt.NDArray[np.int64],
    filled: int,
    k: int,
    ef: int,
    allowed: npt.NDArray[np.uint8] | None,
    trusted: bool,
) -> tuple[int, tuple[int, ...], int]: ...
def graph_insert(body: bytes, graph: bytes | None, m: int, ef: int, alpha: float) -> bytes: ...
def graph_remove(body: bytes, graph: bytes, rows: Sequence[int], ef: int, alpha: float) -> bytes: ...
def graph_check(body: bytes, graph: bytes) -> None: ...
