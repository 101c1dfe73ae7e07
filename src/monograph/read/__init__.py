"""Bytes to documents: every format has a module of its own."""
