"""All routes of the API."""

from __future__ import annotations

from monograph.app.serve import answering, finding, following, graph, originals, reading, state, uploads
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
    Route("GET", "/document/source", originals.source),
    Route("GET", "/document/original", originals.original, kinds=originals.KINDS),
    Route("GET", "/document/page", originals.page, kinds=("image/png",), slow=True),
    Route("GET", "/document/boxes", originals.boxes, slow=True),
    Route("GET", "/document/names", graph.names),
    Route("GET", "/document/summaries", state.summaries),
    Route("GET", "/chunk", reading.chunk),
    Route("GET", "/entities", graph.entities),
    Route("GET", "/neighbourhood", graph.neighbourhood),
    Route("GET", "/routes", graph.routes),
    Route("GET", "/picture", graph.picture, kinds=("text/html",)),
    Route("GET", "/picture/data", graph.picture_data, kinds=("application/json",)),
    Route("GET", "/outline", state.outline),
    Route("GET", "/summary", state.summary),
    Route("GET", "/sources", state.sources),
    Route("GET", "/failures", state.failures),
    Route("GET", "/stats", state.stats),
    Route("GET", "/costs", state.costs),
    Route("GET", "/check", state.check, slow=True),
    Route("GET", "/changes", following.changes),
    Route("GET", "/jobs", following.jobs),
    Route("GET", "/job", following.job),
    Route("GET", "/job/events", following.job_events),
    Route("POST", "/sync", following.sync, status=202, writes=True),
    Route("POST", "/plan", following.plan, status=202, writes=True),
    Route("POST", "/retry", following.retry, status=202, writes=True),
    Route("POST", "/remove", following.remove, status=202, writes=True),
    Route("POST", "/sources/remove", following.unfollow, status=202, writes=True),
    Route("DELETE", "/job", following.stop, writes=True),
    Route("POST", "/upload", uploads.upload, last=uploads.Uploaded, status=201, body=True, writes=True),
    Route("POST", "/names/apart", following.set_apart, slow=True, writes=True),
    Route("POST", "/names/unite", following.unite, slow=True, writes=True),
)
