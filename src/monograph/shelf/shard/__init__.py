"""One of many files, as it is asked."""
