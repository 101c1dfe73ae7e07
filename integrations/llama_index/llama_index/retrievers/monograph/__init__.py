"""Monograph for LlamaIndex: retrievers."""
