"""Names and document hashes of many files."""
