"""What many files tell is laid together, so that it is read as one."""
