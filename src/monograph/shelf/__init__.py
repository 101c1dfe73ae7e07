"""Many files answer as one: their versions lie as immutable objects in a folder or a bucket."""
