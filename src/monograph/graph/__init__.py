"""The entity–chunk graph."""

GRAPH = 1
"""The version of how parts of the graph are made: a file whose graph has another one gets its graph made anew."""
