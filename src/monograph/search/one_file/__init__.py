"""Reader of one file, and what it caches until the file changes."""
