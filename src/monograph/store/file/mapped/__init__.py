"""Files that other programs cut off while they are mapped into memory: an error instead of SIGBUS."""
