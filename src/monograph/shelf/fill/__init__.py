"""Documents are dealt out over shards, which are made of them."""
