"""What is a function of content."""
