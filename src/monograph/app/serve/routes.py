"""All routes of the API."""

from __future__ import annotations

from monograph.app.serve import answering, finding, graph, reading, state
from monograph.app.serve.route import Route
from monograph.values import Answer

ROUTES: tuple[Route, ...] = (
    Route("GET", "/settings", state.settings),
    Route("GET", "/search", finding.search),
    Route("GET", "/context", finding.context),
    Route("GET", "/ask", answering.ask, last=Answer),
    Route("POST", "/chat", answering.chat, last=Answer),
    Route("GET", "/documents", reading.documents),
    Route("GET", "/document", reading.document),
    Route("GET", "/document/text", reading.text),
    Route("GET", "/document/chunks", reading.chunks),
    Route("GET", "/chunk", reading.chunk),
    Route("GET", "/entities", graph.entities),
    Route("GET", "/neighbourhood", graph.neighbourhood),
    Route("GET", "/routes", graph.routes),
    Route("GET", "/outline", state.outline),
    Route("GET", "/sources", state.sources),
    Route("GET", "/failures", state.failures),
    Route("GET", "/stats", state.stats),
    Route("GET", "/check", state.check),
)
