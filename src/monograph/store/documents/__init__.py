"""Rows of documents, chunks, sources and roots, and filters over them."""
