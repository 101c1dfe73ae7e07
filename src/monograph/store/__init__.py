"""The rows of a .mono file: the only place with SQL."""
