"""Who holds the shards, and asks them."""
