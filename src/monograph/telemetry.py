"""Spans and metrics for OpenTelemetry, where the program has loaded it; nothing, at no cost, where it has not.

Only OpenTelemetry's API is used, and only once the program itself has imported it: who has set no provider up gets
nothing of it. What is asked and answered is in a span only where ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT``
is ``true``, as for all that OpenTelemetry says of models; nor is an error's message, which may quote it.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Value: TypeAlias = str | bool | int | float
Attributes: TypeAlias = Mapping[str, Value]

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

NONE: Attributes = MappingProxyType({})

DURATIONS: tuple[float, ...] = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300)
"""Bounds in seconds of what durations are counted in."""

TOKENS: tuple[float, ...] = tuple(4.0**power for power in range(14))
"""Bounds of what tokens are counted in, as the conventions for models have them."""

_made: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of work that is told of; of one that nobody listens to nothing is kept."""

    told: Any = None

    def set(self, attributes: Attributes) -> None:
        """Tell more of it."""
        if self.told is not None and self.told.is_recording():
            self.told.set_attributes(attributes)

    def text(self, name: str, value: str) -> None:
        """Tell what a user said or read, if that is asked for."""
        if self.told is not None and self.told.is_recording() and captures():
            self.told.set_attribute(name, value)

    def fail(self, error: BaseException) -> None:
        """Tell that it failed, and with what kind of error."""
        if self.told is not None and self.told.is_recording():
            trace = sys.modules["opentelemetry.trace"]
            said = str(error) if captures() else None
            self.told.set_attribute("error.type", type(error).__qualname__)
            self.told.set_status(trace.Status(trace.StatusCode.ERROR, said))


_SILENT = nullcontext(Span())


def captures() -> bool:
    """Whether what users say may be told."""
    return os.environ.get(CAPTURE, "").lower() == "true"


def span(name: str, attributes: Attributes = NONE, *, holds: bool = True) -> AbstractContextManager[Span]:
    """A stretch of work.

    Parameters
    ----------
    name:
        What is done.
    attributes:
        What is told of it.
    holds:
        Whether those that begin before it ends, in this thread, are parts of it: not where a generator gives pieces,
        between which its caller does other work.
    """
    if "opentelemetry.trace" not in sys.modules or (tracer := _of("trace", "get_tracer")) is None:
        return _SILENT
    return _recorded(tracer, name, attributes, holds=holds)


@contextmanager
def _recorded(tracer: Any, name: str, attributes: Attributes, *, holds: bool) -> Iterator[Span]:
    told = tracer.start_span(name, attributes=attributes)
    opened = Span(told)
    use_span = sys.modules["opentelemetry.trace"].use_span
    try:
        with use_span(told, record_exception=False, set_status_on_exception=False) if holds else nullcontext():
            yield opened
    except Exception as error:
        opened.fail(error)
        raise
    finally:
        told.end()


def traced(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A function whose every call is a stretch of work."""

    def decorated(work: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(work)
        def traced_work(*args: P.args, **kwargs: P.kwargs) -> T:
            if "opentelemetry.trace" not in sys.modules:
                return work(*args, **kwargs)
            with span(name):
                return work(*args, **kwargs)

        return traced_work

    return decorated


def took(name: str, since: float, attributes: Attributes = NONE) -> None:
    """Count how long something took, in seconds since ``since`` by ``time.perf_counter``."""
    histogram = _instrument("create_histogram", name, "s", DURATIONS)
    if histogram is not None:
        histogram.record(time.perf_counter() - since, attributes)


def used(name: str, tokens: int, attributes: Attributes = NONE) -> None:
    """Count tokens that something took."""
    histogram = _instrument("create_histogram", name, "{token}", TOKENS)
    if histogram is not None:
        histogram.record(tokens, attributes)


def count(name: str, number: int, unit: str, attributes: Attributes = NONE) -> None:
    """Count things of a kind, ``{document}`` for documents."""
    counter = _instrument("create_counter", name, unit)
    if counter is not None and number:
        counter.add(number, attributes)


def _instrument(kind: str, name: str, unit: str, bounds: tuple[float, ...] = ()) -> Any:
    if name not in _made:
        meter = _of("metrics", "get_meter")
        if meter is None:
            return None
        make = getattr(meter, kind)
        try:
            more = {"explicit_bucket_boundaries_advisory": list(bounds)} if bounds else {}
            _made[name] = make(name, unit=unit, **more)
        except TypeError:  # of before 2025, which takes no advice
            _made[name] = make(name, unit=unit)
    return _made[name]


def _of(part: str, maker: str) -> Any:
    """OpenTelemetry's, which passes on to whatever provider is set up, now or later; None where it is not loaded."""
    if maker not in _made:
        # Another thread may be about to load it.
        make = getattr(sys.modules.get(f"opentelemetry.{part}"), maker, None)
        if make is None:
            return None
        _made[maker] = make("monograph")
    return _made[maker]
