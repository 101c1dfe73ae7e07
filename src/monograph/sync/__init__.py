"""Comparison of folders with the stored files."""
