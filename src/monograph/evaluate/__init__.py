"""Evaluation of retrieval: question sets, metrics, and measurements of search modes."""
