"""One tree of summaries stands over all shards: the very tree of one file."""
