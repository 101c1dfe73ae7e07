"""Dates of documents and times in questions, parsed from texts and metadata."""
