"""Summaries that are added to a context.

If a file has a tree of summaries, summaries get a share of the context's budget. The passages of a context contain the
requested facts. The summaries describe the text around the passages: they are the hits' ancestors in the tree.

A question such as "what is this document about" is about a whole: a whole document, or the whole file. The passages
most similar to such a question do not answer it. The context of such a question has the summaries of the document or
file, from the top of the tree down. The context of a question about a document also has the beginning of the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import fsum

from monograph.regex import regex
from monograph.search.one_file import summaries
from monograph.store import tree as store
from monograph.store.documents import chunks, documents, filters
from monograph.store.documents.filters import EVERYTHING, CompiledFilter
from monograph.store.file.database import Connection
from monograph.store.words.terms import words_of
from monograph.values import Hit, Origin, Summary

SHARE = 0.2
"""Share of the budget for summaries that are the hits' ancestors in the tree."""

WHOLE_SHARE = 0.5
"""Share of the budget for summaries if the question is about a whole document, or the whole file."""

LAYERS = 2
"""Summaries up to this number of layers above a hit in the tree may be added to the context."""

LEAST = 2
"""Minimum number of hits under a summary that is added to a context."""

SCATTERED = 0.5
"""Hits from more than SCATTERED * (number of hits) documents are treated as unrelated, and get no summaries."""

LOOKED_AT = 10
MOST_NODES = 64
"""Maximum number of summaries that are read for one context.

For a question about a whole, a large budget raises this number to one summary for every SUMMARY_TOKENS tokens.
"""

SUMMARY_TOKENS = 16
"""Low estimate of the tokens in a summary, so that enough summaries are read to fill the budget."""

CHUNK_TOKENS = 48
"""Low estimate of the tokens in a chunk, so that enough chunks are read to fill the budget."""

_HEADS = ",:;–—|("


@dataclass(frozen=True, slots=True)
class Overview:
    """Summaries for a context, and the hits that they accompany.

    ``summaries`` are hits in the order in which they are added to the context. ``share`` is the largest share of the
    budget that summaries may take. ``whole`` is True if the question is about a whole document or the whole file.
    Summaries then come before passages.

    ``hits`` are usually the hits of the search. For a question about a whole, they may be the beginnings of the
    documents that the question refers to. Then ``opening`` is True, and they are read in order, not ranked.
    """

    hits: tuple[Hit, ...] = ()
    summaries: tuple[Hit, ...] = ()
    share: float = SHARE
    whole: bool = False
    opening: bool = False


def overview(
    connection: Connection, question: str, hits: Sequence[Hit], allowed: CompiledFilter, budget: int
) -> Overview | None:
    """Return the summaries for the context of a question, and the hits that they accompany.

    ``allowed`` is the filter of the chunks that may be read, and ``budget`` is the maximum number of tokens of the
    context. Return None if the file has no tree, if a hit is a summary itself, or if no summary is found.
    """
    if not store.exists(connection) or any(hit.summary is not None for hit in hits):
        return None
    named = _find_documents(connection, question) if may_be_about_a_whole(question) else {}
    if named and is_about_a_whole(question, named):
        named_rows = sorted({row for rows in named.values() for row in rows})
        result = _load_whole(connection, named_rows, hits, allowed, budget)
    elif is_about_a_whole(question):
        result = _load_whole(connection, [], hits, allowed, budget)
    else:
        result = Overview(tuple(hits), _load_hits(connection, _find_above(connection, hits), allowed))
    return result if result.summaries else None


def _find_above(connection: Connection, hits: Sequence[Hit]) -> list[int]:
    """Return the summaries, best first, that are ancestors of at least LEAST hits, at most LAYERS layers up."""
    looked_at = hits[:LOOKED_AT]
    if len({hit.chunk.document_id for hit in looked_at}) > SCATTERED * len(looked_at):
        return []  # Each hit has another subject, and needs the budget itself.
    hits_of = {hit.chunk.id: hit for hit in looked_at}
    hit_by_row = {row: hits_of[chunk_id] for chunk_id, row in chunks.rows_of(connection, hits_of).items()}
    ranks_above: dict[int, list[int]] = {}
    for row, nodes in store.ancestors(connection, list(hit_by_row)).items():
        for node in nodes[:LAYERS]:
            ranks_above.setdefault(node, []).append(hit_by_row[row].rank)
    loaded = store.load(connection, ranks_above)
    weights = {
        node: fsum(1.0 / (1.0 + rank) for rank in ranks) for node, ranks in ranks_above.items() if len(ranks) >= LEAST
    }
    return sorted(weights, key=lambda node: (-weights[node], loaded[node].key))[:MOST_NODES]


def _load_whole(
    connection: Connection, named: list[int], hits: Sequence[Hit], allowed: CompiledFilter, budget: int
) -> Overview:
    """Return the summaries and beginnings of the documents ``named`` (row numbers).

    If ``named`` is empty, return the file's highest summaries and ``hits``; but if the file has only one document, this
    document counts as named.
    """
    most = max(MOST_NODES, budget // SUMMARY_TOKENS)
    document_rows = named or chunks.of_which_documents(connection, allowed, 2)
    # If no document is named, the hits take the place of the beginnings.
    if not named and len(document_rows) > 1:
        summary_hits = _load_hits(connection, store.highest_summaries(connection, most), allowed)
        return Overview(tuple(hits), summary_hits, WHOLE_SHARE, whole=True)
    chunk_rows = [row for number in document_rows for row in chunks.rows_of_document(connection, number)]
    nodes = {node for group in store.ancestors(connection, chunk_rows).values() for node in group}
    loaded = store.load(connection, nodes)
    ordered = sorted(nodes, key=lambda node: (-loaded[node].layer, loaded[node].rank, loaded[node].key))
    first = chunks.openings(connection, document_rows, allowed, 1 + budget // CHUNK_TOKENS)
    opening = []
    for rank, one in enumerate(chunks.load(connection, first)):
        origins = (Origin("tree", rank, 0.0),)
        opening.append(Hit(one.chunk, 0.0, rank, one.title, one.uri, one.metadata, origins, valid=one.valid))
    summary_hits = _load_hits(connection, ordered[:most], allowed, document_rows)
    return Overview(tuple(opening), summary_hits, WHOLE_SHARE, whole=True, opening=True)


def _load_hits(
    connection: Connection, nodes: Sequence[int], allowed: CompiledFilter, named: Sequence[int] | None = None
) -> tuple[Hit, ...]:
    """Return the permitted parts of summaries as hits, in the order of ``nodes``. Arguments: see :func:`quotable`."""
    permitted = quotable(connection, nodes, allowed, named)
    rows = store.load(connection, permitted)
    nearest = chunks.load(connection, (rows[node].nearest or 0 for node in permitted))
    return tuple(
        Hit(chunk.chunk, 0.0, rank, "", "", {}, (Origin("tree", rank, 0.0),), summary=summary)
        for rank, (chunk, summary) in enumerate(zip(nearest, permitted.values(), strict=True))
    )


def _find_documents(connection: Connection, question: str) -> dict[str, list[int]]:
    """Return the documents that a question names, as {name: row numbers of documents}."""
    question_text = f" {' '.join(words_of(question))} "
    rows_by_name: dict[str, list[int]] = {}
    words: dict[str, str] = {}
    for row, title, uri in documents.names(connection):
        head = title[: min((index for mark in _HEADS if (index := title.find(mark)) > 0), default=0)]
        # A head of the title or a file name of a single word may mean anything.
        for name, least in ((title, 1), (head, 2), (uri.rstrip("/").rpartition("/")[2], 2)):
            spoken = words_of(name)
            if len(spoken) >= least and f" {' '.join(spoken)} " in question_text:
                rows_by_name.setdefault(name, []).append(row)
                words[name] = f" {' '.join(spoken)} "
                break
    return {
        name: rows
        for name, rows in rows_by_name.items()
        if not any(words[name] != other and words[name] in other for other in words.values())
    }


def quotable(
    connection: Connection, nodes: Sequence[int], allowed: CompiledFilter, documents: Sequence[int] | None = None
) -> dict[int, Summary]:
    """Return the permitted part of each summary, by node. A summary without a permitted part is left out.

    ``allowed`` and ``documents`` (None for all documents) say which chunks are permitted. A summary that quotes chunks
    is cut down to the sentences that come from permitted chunks, and its ``chunks`` to the chunks of these sentences. A
    summary in a model's own words is kept whole if all chunks under it are permitted, and left out otherwise.
    """
    rows = store.load(connection, nodes)
    gists = summaries.texts_of(connection, rows.values())
    quoting = {node: gist for node, gist in gists.items() if gist.quotes}
    sources = summaries.sources_of(connection, quoting)
    own_words = gists.keys() - sources.keys()
    if allowed != EVERYTHING or documents is not None:
        inner_filter = allowed if documents is None else filters.within(allowed, documents)
        chunk_ids = list(dict.fromkeys(source.chunk_id for group in sources.values() for source in group))
        permitted = chunks.rows_of(connection, chunk_ids, inner_filter)
        for node, group in sources.items():
            sources[node] = [source for source in group if source.chunk_id in permitted]
        if own_words:
            own_words -= store.disallowed_summaries(connection, inner_filter)
    chunk_ids_under = summaries.ids_under(connection, sorted(own_words))
    result: dict[int, Summary] = {}
    for node in dict.fromkeys(nodes):
        row = rows.get(node)
        if row is not None and sources.get(node):
            text, moved = "", []  # Only the sentences that have permitted sources, each on a line.
            for source in sorted(sources[node], key=lambda source: (source.start, source.end)):
                text += "\n" if text else ""
                moved.append(replace(source, start=len(text), end=len(text) + source.end - source.start))
                text += gists[node].text[source.start : source.end]
            quoted = tuple(dict.fromkeys(source.chunk_id for source in moved))
            result[node] = Summary(row.key.hex(), row.layer, text, quoted, tuple(moved))
        elif row is not None and node in own_words:
            result[node] = Summary(row.key.hex(), row.layer, gists[node].text, chunk_ids_under[node])
    return result


STAND_IN = "this document"
"""Phrase that replaces a document's name in a question."""

LONGEST = 500
"""Maximum number of characters of a question about a whole."""

_NOUNS = (
    r"(?:documents?|texts?|files?|reports?|articles?|papers?|books?|stor(?:y|ies)|novels?|meetings?|transcripts?|minutes"
    r"|conversations?|chats?|plays?|poems?|essays?|manuals?|thesis|scripts?|letters?|e-?mails?|pages?|chapters?"
    r"|stud(?:y|ies)|presentations?|speech(?:es)?|talks?|contracts?|notes|archives?|librar(?:y|ies)|collections?"
    r"|corpus|data ?sets?|folders?|discussion|everything|whole thing)"
)
_ALL = (
    r"(?:texte?[sn]?|textes|dokument(?:e[ns]?|s)?|datei(?:en)?|berichte?[ns]?|buch(?:e?s)?|bücher[n]?|artikel[ns]?"
    r"|geschichten?|romans?|sitzung|besprechung|gesprächs?|treffens?|protokolls?|sammlung|archivs?|korpus"
    r"|datensatz(?:es)?|kapitels?|aufsatz(?:es)?|studie|vortrags?)"
)
_TEXTOS = (
    r"(?:textos?|documentos?|archivos?|informes?|libros?|artículos?|historias?|novelas?|reuni[oó]n|conversaci[oó]n"
    r"|colecci[oó]n|corpus|todo)"
)
_THE = r"(?:all|of|this|these|that|those|the|my|our|whole|entire|full|complete|given|above|following|attached)"
_DER = r"(?:de[rnms]|die|das|dies(?:e[rnms]?)?|ganzen?|gesamten?|allen?|alle[rs]|meine[rnms]?|unsere[rnms]?)"
_EL = r"(?:el|la|los|las|est[aeo]s?|todos?|todas?|del|de|mis?|nuestr[ao]s?)"
_WHOLE = rf"(?:(?:{_THE}\s+)+(?:(?!on\b|by\b|about\b)\w+\s+)?{_NOUNS}|it(?: all)?|this|everything)"
_GANZES = rf"(?:(?:{_DER}\s+)+{_ALL}|es|alles|{STAND_IN})"
_TODO = rf"(?:(?:{_EL}\s+)+{_TEXTOS}|{STAND_IN})"
_END = (
    r"(?:[\s,]+(?:please|briefly|overall|here|in (?:brief|short|general|total|full)|for me|as a whole"
    r"|(?:in|using) (?:about |at most |no more than )?(?:a few|\w+) (?:short )?"
    r"(?:sentences?|words?|paragraphs?|points?|lines?)"
    r"|(?:one|a) (?:sentence|paragraph|line) (?:for|per|a) (?:each )?\w+"
    r"|bitte|kurz|insgesamt|überhaupt|eigentlich|hauptsächlich|hier|in (?:wenigen|\w+) (?:sätzen|worten|zeilen)"
    r"|por favor|en general|brevemente|en (?:pocas|\w+) (?:palabras|frases|líneas)))*\W*$"
)
_SUMMARY = r"(?:summary|overview|synopsis|recap|outline|gist|abstract|tl;?dr|big picture|table of contents)"
_MAIN = (
    r"(?:main|key|major|central|overall|principal|most important|common|recurring|general|overarching|chief)"
    r"\s+(?:\w+\s+)?"
    r"(?:themes?|topics?|subjects?|ideas?|points?|messages?|arguments?|findings|takeaways?|conclusions?|threads?|plot)"
)
_HAUPT = (
    r"(?:(?:haupt|kern|leit)(?:themen|thema|punkte?|aussagen?|gedanken?|ideen?|inhalte?|motive)"
    r"|wichtigsten?\s+(?:themen|punkte|aussagen|inhalte|ergebnisse|erkenntnisse|gedanken))"
)
_SET = (
    r"(?:the|this|our|a)\s+(?:whole\s+|entire\s+|multidisciplinary\s+)?(?:data ?set|corpus|collection|archive|library)"
)
_BROAD = (
    r"(?:themes?|topics?|patterns?|trends?|motifs?|insights|challenges|connections|differences|features|markers|devices"
    r"|approaches|techniques|benefits|roles?|entities|styles?|perspectives)"
)


def _compile_questions(whole: str, ganzes: str, todo: str, repeated: str) -> re.Pattern[str]:
    """Return a pattern of questions about a whole, given patterns for "this text" in English, German and Spanish."""
    within = r"(?:of|in|from|across|within|throughout|covered (?:in|by)|discussed (?:in|at))"
    # ``repeated`` (* or ?) says how many phrases such as "of this archive" may follow.
    of = rf"(?:\s+{within}\s+{whole}){repeated}"
    aus = rf"(?:\s+(?:in|aus|von|über|zu|bei|an)?\s*{ganzes}){repeated}"
    de = rf"(?:\s+(?:de|en|sobre)?\s*{todo}){repeated}"
    return regex(
        "|".join(
            (
                rf"\b(?:summari[sz]e[sd]?|sum up|recap|outline|condense|describe|review)\s+{whole}{of}{_END}",
                rf"\b{_SUMMARY}(?:\s+(?:of|over|about)\s+{whole})?{of}{_END}",
                rf"\bwhat(?:'s|\s+(?:is|are|was|were))\s+{whole}\s+(?:(?:all|mainly|mostly|really)\s+)*about{_END}",
                rf"\bwhat\s+(?:do|does|did)\s+{whole}\s+(?:cover|contain|say|tell|discuss|deal with|talk about){_END}",
                rf"\bwhat\s+(?:happens|happened)\s+(?:in|at|during)\s+{whole}{_END}",
                rf"^\W*(?:what|which|list|give|name|describe|tell|explain|and)\b[^,.?!]*\b{_MAIN}{of}{_END}",
                rf"^\W*(?:what|which)\s+(?:\w+\s+)?(?:themes|topics|subjects|motifs)\s+(?:\w+\s+){{1,4}}{whole}{_END}",
                rf"^\W*(?:what|which)\s+(?:themes|topics|subjects)\s+(?:are|were|do)\s+[\w ]*"
                rf"\b(?:covered|discussed){_END}",
                rf"^\W*how\s+(?:can|could|does|do|might|is|are)\s+{_SET}(?:['’]s)?\b",
                rf"^\W*(?:what|how)\b.*\b{_BROAD}\b.*\b(?:in|within|across|throughout|of|from|with|using)\s+{_SET}\b",
                rf"\bfass(?:e|t|en\s+sie)?\s+(?:mir\s+|bitte\s+|uns\s+|das\s+(?=alles\b))*{ganzes}{aus}"
                rf"(?:\s+(?:bitte|kurz|in \w+ \w+))*\s+zusammen{_END}",
                rf"\b(?:zusammenfassung|(?:über|rück)blick|inhaltsangabe){aus}{_END}",
                rf"\b(?:worum|wovon|um was)\s+(?:geht|ging|handelt)e?(?:\s+es(?:\s+sich)?)?{aus}{_END}",
                rf"\b(?:was|welche)\b[^,.?!]*\b{_HAUPT}{aus}{_END}",
                rf"\bwas\s+(?:steht|passiert|geschieht)\s+in\s+{ganzes}{_END}",
                rf"\bres[uú]m(?:e|a|en|ir|ime|eme)\s+{todo}{_END}",
                rf"\b(?:resumen|visión general){de}{_END}",
                rf"\bde\s+qué\s+(?:va|van|tratan?|hablan?)\s+{todo}{_END}",
                rf"\b(?:temas|ideas|puntos)\s+(?:principales|centrales|clave|más importantes){de}{_END}",
            )
        ),
        re.IGNORECASE,
    )


_ASKED = _compile_questions(_WHOLE, _GANZES, _TODO, "*")
_ASKED_OF_ANYTHING = _compile_questions(r"\S.*?", r"\S.*?", r"\S.*?", "?")
_ASIDE = regex(r"\s*\([^()]*\)\W*$")
_QUOTES = str.maketrans("", "", '"“”„«»‘*`')


def _strip_marks(text: str) -> str:
    """Return a question without parentheses at its end, and without marks of quotation or emphasis."""
    while (shorter := _ASIDE.sub("", text)) != text:
        text = shorter
    return " ".join(text.replace("’s ", "'s ").translate(_QUOTES).split())


def is_about_a_whole(question: str, names: Iterable[str] = ()) -> bool:
    """Return whether a question is about the content of a whole document, or of the whole file.

    ``names`` are names of documents that occur in the question. Each is replaced by "this document" before the check.
    """
    if len(question) > LONGEST:
        return False
    text = question
    for name in sorted(names, key=lambda candidate: (-len(candidate), candidate)):
        text = re.sub(r"\W+".join(map(re.escape, re.findall(r"\w+", name))), f" {STAND_IN} ", text, flags=re.IGNORECASE)
    return _ASKED.search(_strip_marks(text)) is not None


def may_be_about_a_whole(question: str) -> bool:
    """Return whether a question is about a whole, assuming that some part of the question is the name of a document."""
    return len(question) <= LONGEST and _ASKED_OF_ANYTHING.search(_strip_marks(question)) is not None
