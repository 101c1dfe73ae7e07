"""Extension module in C++ that scores the chunks of a walk along the graph."""
