"""Ways to look round in what a file holds."""
