"""The way from hits to an answer: reduce them, pack them, ask a model."""
