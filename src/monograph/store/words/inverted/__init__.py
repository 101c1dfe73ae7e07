"""C++ code that reads the pages of SQLite's inverted index (FTS5), and ranks chunks by BM25."""
