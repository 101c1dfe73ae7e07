"""Writing: documents are cut into chunks, derived values are computed, and both are stored as rows."""
