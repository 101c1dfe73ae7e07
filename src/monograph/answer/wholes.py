"""Whether a question is about a whole, a document or all that is there, told from its words.

*What is this report about?* is; *what is the report that Mara wrote about?* asks for something in it. A whole is named
by what documents are called (a report, the meeting, these files) and nothing that narrows it may follow. Precision
goes before recall: a question that is taken for one about a passage is answered as ever. In English, German, Spanish.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from monograph.regex import regex

STAND_IN = "this document"
"""What a title is read as."""

LONGEST = 500
"""Characters of a question; who writes more says what is wanted."""

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


def _asking_for(whole: str, ganzes: str, todo: str, repeated: str) -> re.Pattern[str]:
    """Return the expression for questions about a whole, given how it is called in English, German and Spanish.

    ``repeated`` is ``*`` or ``?``: how often what it is a part of may follow.
    """
    within = r"(?:of|in|from|across|within|throughout|covered (?:in|by)|discussed (?:in|at))"
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


_ASKED = _asking_for(_WHOLE, _GANZES, _TODO, "*")
_ASKED_OF_ANYTHING = _asking_for(r"\S.*?", r"\S.*?", r"\S.*?", "?")
_ASIDE = regex(r"\s*\([^()]*\)\W*$")
_QUOTES = str.maketrans("", "", '"“”„«»‘*`')


def _bare(text: str) -> str:
    """Return a question without asides at its end, and without marks of quotation or emphasis."""
    while (shorter := _ASIDE.sub("", text)) != text:
        text = shorter
    return " ".join(text.replace("’s ", "'s ").translate(_QUOTES).split())


def is_about_a_whole(question: str, names: Iterable[str] = ()) -> bool:
    """Return whether a question asks what a whole document, or all that is there, says.

    Parameters
    ----------
    question:
        As it was asked.
    names:
        Titles of documents that stand in it: each is read as "this document".
    """
    if len(question) > LONGEST:
        return False
    text = question
    for name in sorted(names, key=lambda one: (-len(one), one)):
        text = re.sub(r"\W+".join(map(re.escape, re.findall(r"\w+", name))), f" {STAND_IN} ", text, flags=re.IGNORECASE)
    return _ASKED.search(_bare(text)) is not None


def may_be_about_a_whole(question: str) -> bool:
    """Return whether a question is about a whole if something in it is the title of a document."""
    return len(question) <= LONGEST and _ASKED_OF_ANYTHING.search(_bare(question)) is not None
