"""What people type: the command line."""
