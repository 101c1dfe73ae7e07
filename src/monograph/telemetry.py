"""Spans and metrics for OpenTelemetry.

Nothing is recorded unless the program itself has imported OpenTelemetry's API and set up a provider. Monograph never
imports the API. While the API is not imported, telemetry costs nothing.

Prompts and answers are recorded only if the environment variable
``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` is ``true``. Other instrumentation of language models uses the
same variable. Error messages can quote prompts and answers, so they are recorded only if the variable is ``true``, too.
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
"""Boundaries of the histogram buckets for durations, in seconds."""

TOKENS: tuple[float, ...] = tuple(4.0**power for power in range(14))
"""Boundaries of the histogram buckets for token counts, as in OpenTelemetry's conventions for generative AI."""

_created: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Span:
    """Recorded period of work. ``otel_span`` is OpenTelemetry's span object. If it is None, nothing is recorded."""

    otel_span: Any = None

    def set(self, attributes: Attributes) -> None:
        """Add attributes to the span."""
        if self.otel_span is not None and self.otel_span.is_recording():
            self.otel_span.set_attributes(attributes)

    def text(self, name: str, value: str) -> None:
        """Add an attribute to the span: a text that a user wrote or read, such as a prompt or an answer.

        If such texts may not be recorded (:func:`captures`), do nothing.
        """
        if self.otel_span is not None and self.otel_span.is_recording() and captures():
            self.otel_span.set_attribute(name, value)

    def fail(self, error: BaseException) -> None:
        """Mark the work as failed. Record the error's type, and its message if :func:`captures` returns True."""
        if self.otel_span is not None and self.otel_span.is_recording():
            trace = sys.modules["opentelemetry.trace"]
            message = str(error) if captures() else None
            self.otel_span.set_attribute("error.type", type(error).__qualname__)
            self.otel_span.set_status(trace.Status(trace.StatusCode.ERROR, message))


_NO_SPAN = nullcontext(Span())


def captures() -> bool:
    """Return whether prompts, answers and other texts that users write and read may be recorded."""
    return os.environ.get(CAPTURE, "").lower() == "true"


def span(name: str, attributes: Attributes = NONE, *, holds: bool = True) -> AbstractContextManager[Span]:
    """Return a context manager that records a period of work as a span with this name and these attributes.

    With ``holds``, spans that begin in this thread during the period become children of this span. Set ``holds`` to
    False in a generator: its caller does other work between the pieces that the generator yields.
    """
    if "opentelemetry.trace" not in sys.modules or (tracer := _get_provider("trace", "get_tracer")) is None:
        return _NO_SPAN
    return _record_span(tracer, name, attributes, holds=holds)


@contextmanager
def _record_span(tracer: Any, name: str, attributes: Attributes, *, holds: bool) -> Iterator[Span]:
    raw_span = tracer.start_span(name, attributes=attributes)
    wrapped = Span(raw_span)
    use_span = sys.modules["opentelemetry.trace"].use_span
    try:
        with use_span(raw_span, record_exception=False, set_status_on_exception=False) if holds else nullcontext():
            yield wrapped
    except Exception as error:
        wrapped.fail(error)
        raise
    finally:
        raw_span.end()


def traced(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that records every call of a function as a span."""

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
    """Record the duration of work that began at ``since``, a value of ``time.perf_counter``, and ends now."""
    histogram = _get_instrument("create_histogram", name, "s", DURATIONS)
    if histogram is not None:
        histogram.record(time.perf_counter() - since, attributes)


def used(name: str, tokens: int, attributes: Attributes = NONE) -> None:
    """Record how many tokens a model call used."""
    histogram = _get_instrument("create_histogram", name, "{token}", TOKENS)
    if histogram is not None:
        histogram.record(tokens, attributes)


def count(name: str, number: int, unit: str, attributes: Attributes = NONE) -> None:
    """Add a number to a counter. ``unit`` names what is counted, such as ``{document}``."""
    counter = _get_instrument("create_counter", name, unit)
    if counter is not None and number:
        counter.add(number, attributes)


def _get_instrument(kind: str, name: str, unit: str, bounds: tuple[float, ...] = ()) -> Any:
    if name not in _created:
        meter = _get_provider("metrics", "get_meter")
        if meter is None:
            return None
        make = getattr(meter, kind)
        try:
            more = {"explicit_bucket_boundaries_advisory": list(bounds)} if bounds else {}
            _created[name] = make(name, unit=unit, **more)
        except TypeError:  # versions of before 2025 know no such argument
            _created[name] = make(name, unit=unit)
    return _created[name]


def _get_provider(part: str, maker: str) -> Any:
    """Call ``maker``, such as ``get_tracer``, of OpenTelemetry's module ``part``; None if the module is not loaded."""
    if maker not in _created:
        # Another thread may be importing the module: the function may not be there yet.
        make = getattr(sys.modules.get(f"opentelemetry.{part}"), maker, None)
        if make is None:
            return None
        _created[maker] = make("monograph")
    return _created[maker]
