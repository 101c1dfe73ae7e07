"""Python imports this at its start wherever this folder is on PYTHONPATH."""

import encrypted_runs

encrypted_runs.begin()
