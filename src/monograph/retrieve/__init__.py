"""Each retriever: a query in, chunks with scores out."""
