"""The next version of a shelf is written."""
