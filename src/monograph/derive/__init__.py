"""Functions of content: chunks, vectors, mentions, summaries."""
