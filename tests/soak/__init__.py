"""The soak: killed writers, a crowd at one file, damaged files. Run by ``make soak``; see ``docs/explanation/reliability.md``."""
