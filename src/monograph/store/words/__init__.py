"""The inverted index of words and trigrams."""
