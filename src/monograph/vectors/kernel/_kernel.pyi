import numpy as np
import numpy.typing as npt

def top_k(
    vectors: npt.NDArray[np.float32], query: npt.NDArray[np.float32], k: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]: ...
