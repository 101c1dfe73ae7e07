"""The entity–chunk graph."""

GRAPH = 1
"""Version of the code that builds the graph. If a file's graph has another version, it is built again."""
