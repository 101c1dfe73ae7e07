"""From hits to an answer: reduce the hits, pack them into a context, ask a model."""
