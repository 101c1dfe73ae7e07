"""The entity–chunk graph."""

GRAPH = 1
"""Version of the code that builds the graph: a file whose graph has another version gets its graph rebuilt."""
