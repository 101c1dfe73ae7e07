"""Soak test: killed writers, a crowd on one file, damaged files. See ``docs/explanation/reliability.md``."""
