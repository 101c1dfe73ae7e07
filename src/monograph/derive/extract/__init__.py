"""Extractors: they find the entities that chunks name, and the relations between them."""
