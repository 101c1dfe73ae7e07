"""Reader of one file, with a cache that is valid until the file changes."""
