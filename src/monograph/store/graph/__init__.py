"""Rows of the entity–chunk graph and of assertions."""
