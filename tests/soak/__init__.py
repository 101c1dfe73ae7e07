"""The soak: processes killed, a crowd at one file, damaged files. See ``docs/explanation/reliability.md``; run by ``make soak``."""
