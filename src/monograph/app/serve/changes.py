"""Changes of files, by whatever process, as they are seen by those who wait for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monograph.app.serve.events import Event
from monograph.errors import MonographError
from monograph.library import Reader

if TYPE_CHECKING:
    from monograph.shelf import Archive

LOOKED = 0.5
"""Seconds between two looks at a file."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A file has changed: its name, and a number that every change raises."""

    file: str
    generation: int


class Changes:
    """Looks at files on one thread, while anybody waits for changes."""

    def __init__(self, files: Mapping[str, Archive]) -> None:
        self._files = {name: file for name, file in files.items() if isinstance(file, Reader)}
        # The version of a shelf that is open is searched until the end.
        self._generations = {name: file.version for name, file in files.items() if not isinstance(file, Reader)}
        self._waiting = 0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    async def events(self, file: str) -> AsyncIterator[Event]:
        """The state of a file, and again whenever it has changed, for ever."""
        self._begin()
        seen: int | None = None
        try:
            while not self._closed:
                now = self._generations.get(file)
                if now is not None and now != seen:
                    yield Event("change", Changed(file, now))
                    seen = now
                await asyncio.sleep(LOOKED / 2)
        finally:
            with self._lock:
                self._waiting -= 1

    def end(self) -> None:
        """End all events."""
        self._closed = True
        self._wake.set()

    def close(self) -> None:
        """Wait for the thread."""
        if self._thread is not None:
            self._thread.join(1)

    def _begin(self) -> None:
        with self._lock:
            self._waiting += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="monograph-changes", daemon=True)
                self._thread.start()
        self._wake.set()

    def _look(self) -> None:
        while not self._closed:
            if not self._waiting:
                self._wake.wait()
            self._wake.clear()
            for name, file in self._files.items():
                try:
                    self._generations[name] = file.generation()
                except MonographError:
                    continue  # It is in use, or damaged: what asks for more of it says so.
            self._wake.wait(LOOKED)
