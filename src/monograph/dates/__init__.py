"""Dates of texts, parsed from texts and metadata."""
