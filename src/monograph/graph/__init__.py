"""The entity–chunk graph."""
