"""Guard for mapped files that another program truncates: an error of Monograph instead of SIGBUS (Linux only)."""
