"""The tree of summaries: hyperplanes that order vectors, segments of similar nodes, and building of the layers."""
