"""Rows of previous versions of documents."""
