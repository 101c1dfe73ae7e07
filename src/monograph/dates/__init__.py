"""Times parsed from texts and metadata: the date of a document, and the period that a question names."""
