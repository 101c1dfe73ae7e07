"""Rerankers: they score how well each text answers a question."""
