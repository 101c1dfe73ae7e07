"""The tree of summaries: codes, canonical segments, layers."""
