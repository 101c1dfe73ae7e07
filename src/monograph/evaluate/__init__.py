"""Measuring retrieval: question sets, metrics, and runs over them."""
