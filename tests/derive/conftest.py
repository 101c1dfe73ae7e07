"""Fixtures for tests of derivation: model and vector servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.model_server import ModelServer
from support.vector_server import VectorServer


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits before retries, and remove API keys from the environment."""
    monkeypatch.setattr("monograph.derive.server.FIRST_WAIT", 0.01)
    for name in ("MONOGRAPH_API_KEY", "MONOGRAPH_EMBEDDER_API_KEY", "MONOGRAPH_RERANKER_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server(hasty: None) -> Iterator[ModelServer]:
    with ModelServer() as started:
        yield started


@pytest.fixture
def vectors(hasty: None) -> Iterator[VectorServer]:
    with VectorServer() as started:
        yield started
