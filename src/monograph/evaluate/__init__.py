"""Evaluation of retrieval: question sets, metrics, and runs over them."""
