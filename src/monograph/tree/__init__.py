"""The tree of summaries: codes of vectors, segments of layers, and the building of layers."""
