"""Values computed from content: chunks, vectors, mentions, summaries, descriptions of pictures."""
