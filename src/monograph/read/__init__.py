"""Readers that turn bytes into documents, one module per format."""
