"""A query in, hits out."""
