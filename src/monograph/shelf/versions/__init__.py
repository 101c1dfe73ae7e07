"""Versions of a shelf lie as immutable objects in a folder or a bucket, and in a cache on this machine."""
