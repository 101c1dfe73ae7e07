"""What is derived from chunks: tokens and vectors."""
