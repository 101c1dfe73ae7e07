"""Embedders: they turn texts into unit vectors."""
