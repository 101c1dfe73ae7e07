"""From files and documents to rows."""
