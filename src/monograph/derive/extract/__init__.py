"""Extractors: chunks in, what they name and how these belong together out."""
