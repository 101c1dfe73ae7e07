"""Folders compared with what the file holds."""
