"""Marks of LangChain's own tests, whose plugins are not loaded."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    for mark in ("benchmark", "vcr"):
        config.addinivalue_line("markers", f"{mark}: of LangChain's tests")
