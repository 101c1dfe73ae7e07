"""Documents become rows."""
