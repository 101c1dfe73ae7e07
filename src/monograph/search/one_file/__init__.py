"""One file behind the port: what a search reads of it, and what is remembered until it changes."""
