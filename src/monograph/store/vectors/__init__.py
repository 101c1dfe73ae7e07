"""Rows of vectors, clusters and codes."""
