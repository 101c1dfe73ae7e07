"""Scores of a walk along the graph, in C++."""
