"""Reading of a file without a search: documents, entities and the graph around them, and the tree of summaries."""
