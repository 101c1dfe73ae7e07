"""Search: from a query to hits."""
