"""Custom events that LangChain's retrievers dispatch."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import BaseCallbackHandler


class RetrieverEvents(BaseCallbackHandler):
    """Callback handler that records the custom events of retrievers."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []

    def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        self.seen.append((name, data))


def explanations(retriever: Any, query: str) -> list[str]:
    """Return the explanation of each hit that a retriever finds."""
    events = RetrieverEvents()
    retriever.invoke(query, config={"callbacks": [events]})
    return [hit["explanation"] for _, data in events.seen for hit in data["hits"]]
