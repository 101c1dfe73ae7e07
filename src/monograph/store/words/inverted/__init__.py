"""The pages of SQLite's inverted index read in C++, and BM25 over them."""
