"""Rerankers: a question and texts in, a score a text out."""
