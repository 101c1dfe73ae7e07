"""Checks of stored rows."""
