"""Who holds shards, and has them answer."""
