"""A .mono file: its connections, transactions, encryption, schema and settings."""
