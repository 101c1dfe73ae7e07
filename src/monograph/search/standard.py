"""Scores that are comparable: by how many standard deviations each lies above the mean."""

from __future__ import annotations

import numpy as np

from monograph.graph.evidence import Float64


def standardised(scores: Float64) -> Float64:
    """(score - mean) / standard deviation of scores (n,); 0 where all are alike."""
    if not len(scores):
        return np.zeros(0)
    # As numpy's mean and std have it, to the bit, which make the mean twice.
    centred: Float64 = scores - np.add.reduce(scores) / len(scores)
    spread = np.sqrt(np.add.reduce(centred * centred) / len(scores))
    return centred / spread if spread > 0 else np.zeros(len(scores))
