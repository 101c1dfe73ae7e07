"""Rows of the tree of summaries."""
