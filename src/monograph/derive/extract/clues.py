"""Words in or around a name that show its kind (person, place, work, …), in five languages."""

from __future__ import annotations

import re

from monograph.regex import regex


def words(text: str) -> frozenset[str]:
    """Return the words of a text, split at white space."""
    return frozenset(text.split())


INSIDE = words(
    """
of the de la le les du des di da del della dos das do van von der den zu zum zur al el bin ibn & 'n' n’ N' N’ de' de’
"""
)
"""Words that continue a name: University of Oxford, Ludwig van Beethoven, Guns N' Roses."""

LOOSE = words("and in on at to for a an with from by or und im am y e et")
"""Words that continue some names (Payment on Demand) and separate others (Ann and Bob). The extractor returns the whole
run of words and its parts.
"""

GERMAN_LOOSE = words("der den des von zum zur an auf")
"""Words that are treated like LOOSE in German texts only, where every noun has a capital: Haus der Kunst."""

FIRM = words("and or und y e et")
"""Words that divide a run of words into names if the run has LOOSE words in three or more places."""

GERMAN_PARTS = words("und in im auf zum zur")
"""Words that always separate two names in a German text."""

SHORTENED = words(
    "Dr Mr Ms St Lt Mt Ft Jr Sr Co No Op Mrs Sgt Col Gen Maj Rev Sen Gov Rep Hon Inc Ltd Mme Prof Capt Bros Vol"
)
"""Abbreviations after which a dot is part of the name: Dr. Watson."""

TAILS = words("based born led style era like owned speaking language winning related occupied affiliated backed")
"""Words after a hyphen that are not part of the name before the hyphen: Paris-based."""

ADDRESSES = words("mr mrs ms dr prof professor sir herr frau señor señora mme")
"""Forms of address. The name after one is a person's, even if its last word shows another kind: Mr. Church."""

TITLES = ADDRESSES | words(
    """
miss lady lord king queen prince princess president senator captain capt colonel col lieutenant lt sergeant
sgt general gen reverend rev sen gov pope emperor empress duke duchess count baron judge chancellor minister don doña
"""
)
"""Titles. The name after one is a person's, unless its last word shows another kind: King County is a place."""

NO_SPEAKERS = words(
    """
time date note notes subject from to cc re fwd http https example examples warning question answer tip title
author summary abstract source sources update related advertisement version status name price address phone
email mail total location place owner priority deadline usage output input error info debug step topic hint
zeit datum betreff von an hora fecha asunto
"""
)
"""Words that are not a speaker's name when a line begins with the word and a colon: ``Note: …``."""

_DEFINED_AS = {
    "person": """
actor actress admiral analyst anthropologist archaeologist architect artist astronaut astronomer athlete author
baron biologist bishop botanist boxer businessman businesswoman chef chemist choreographer clergyman coach
comedian commander composer conductor cricketer critic cyclist dancer designer detective dictator diplomat
director doctor economist editor emperor engineer entrepreneur explorer farmer filmmaker fighter footballer
general goalkeeper golfer governor guitarist historian inventor journalist judge king knight lawyer lyricist
mathematician mayor merchant minister missionary model monarch musician nobleman novelist nurse officer outlaw
painter philosopher photographer physician physicist pianist pilot pirate player playwright poet politician pope
president priest prince princess producer professor programmer psychologist queen racer rapper rower ruler
sailor scholar scientist screenwriter sculptor senator singer skater soldier songwriter sprinter statesman
surgeon swimmer teacher theologian trumpeter violinist wrestler writer schauspieler schauspielerin
schriftsteller schriftstellerin politiker politikerin maler malerin komponist sänger sängerin dichter kaiser
könig königin acteur actrice écrivain peintre compositeur
chanteur chanteuse roi reine attore attrice scrittore scrittrice pittore compositore
regista regina actriz escritor escritora político política pintor pintora cantante poeta rey reina
""",
    "work": """
album anthem article ballad ballet book cartoon comedy documentary drama ep episode film franchise game magazine
manga miniseries movie musical newspaper novel novella opera painting play poem program sculpture series show
sitcom single song soundtrack symphony thriller zeitschrift roman spielfilm película novela canción chanson
romanzo
""",
    "organisation": """
agency airline army association band bank brand broadcaster bureau business charity church club college
commission committee company conglomerate corporation council department division duo federation firm foundation
group institute institution label league manufacturer ministry museum network orchestra organization
organisation party publisher quartet regiment retailer school society squad squadron startup studio syndicate
team trio trust union university unternehmen partei verein hochschule universität empresa partido universidad
equipo entreprise université parti azienda università partito squadra
""",
    "place": """
airport area arena avenue bay beach borough bridge building canal capital castle cathedral city commune
community continent country county district estate forest glacier hamlet harbour highway hill hotel island
kingdom lake locality mountain municipality neighborhood neighbourhood park parish peninsula plaza port
prefecture province railway region republic reservoir river road settlement square stadium state station street
suburb temple territory town township tunnel valley village volcano ward stadt gemeinde ort fluss insel berg
ciudad municipio pueblo río isla ville commune rivière fleuve île
città comune fiume isola
""",
    "event": """
battle campaign ceremony championship competition conference crisis disaster earthquake election event festival
flood hurricane massacre olympics race rebellion revolution season siege tournament treaty uprising war schlacht
krieg batalla guerra torneo bataille guerre battaglia
""",
}
_ENDS_WITH = {
    "organisation": """
association bank board brothers bureau club co college commission committee company corp corporation council
department f.c fc foundation gmbh group inc institute league llc ltd ministry orchestra party press records
school society studios union university ag e.v
""",
    "place": """
airport avenue bay beach bridge canal castle cathedral church city county creek desert district forest hall
harbour hill hills island islands lake mountain mountains museum ocean palace park peninsula province river road
sea square stadium station street strait tower valley village straße platz
""",
    "event": """
battle bowl championship championships cup election elections fair festival games marathon olympics open
revolution season tour war
""",
    "work": """
album chronicle gazette herald magazine suite symphony times tribune trilogy
""",
}

KIND_BY_DEFINITION = {word: kind for kind, text in _DEFINED_AS.items() for word in text.split()}
"""Kind of a name, by a noun in the following definition: X is a German film director."""

KIND_BY_LAST_WORD = {word: kind for kind, text in _ENDS_WITH.items() for word in text.split()}
"""Kind of a name, by its last word: Tezno River is a place."""

VERBS = ("is", "was", "are", "were", "ist", "war", "es", "fue", "era", "est", "était", "fut", "è", "fu")
ARTICLES = words("a an the one among ein eine einer der die das un una une uno unos unas el la le les il lo i gli su")
_DEFINITION = regex(
    rf"\s*(?:\([^)]{{0,200}}\)\s*)?,?\s*(?:{'|'.join(VERBS)})\s+(?:stat[oa]\s+)?"
    rf"(?:{'|'.join(sorted(ARTICLES))})\b(?P<what>[^.\n;]{{3,160}})",
    re.IGNORECASE,
)
_BORN = regex(
    r"\s*\((?:[^()]{0,60}[;,] ?)?(?:born|b\.|née?\b|geb\.|geboren|\* ?\d|nacid[oa]|nat[oa]\b"
    r"|(?:c\. ?)?\d{1,2}\.? (?:de )?\w+ (?:de )?\d{4} ?[–-]|\d{4} ?[–-] ?\d{4}\))"
)
_DEFINITION_STARTS = (" (", ", ", *(f" {verb} " for verb in VERBS))
TELLING = frozenset((*TITLES, *VERBS, *KIND_BY_LAST_WORD, *KIND_BY_DEFINITION))
"""Words that show the kind of a name, if the name contains one or stands next to one. A bracket after the name, such as
(born 1920), may also show its kind. Without either, the kind of the name is unknown.
"""

_WORD = regex(r"\w+")
_MOST_WORDS = 14
"""Number of words of a definition that are searched for a noun of KIND_BY_DEFINITION."""

_LONGEST_WORD = 16


def kind_of_name(text: str, start: int, end: int) -> str:
    """Return the kind of the name at text[start:end]: ``person``, ``place``, …, or ``name`` if the kind is unknown."""
    name_words = _WORD.findall(text[start:end].casefold()) if " " in text[start:end] else []
    if len(name_words) > 1:
        titled = name_words[0] in TITLES and name_words[1] not in ("of", "the") and LOOSE.isdisjoint(name_words)
        if titled and name_words[0] in ADDRESSES:
            return "person"
        if name_words[-1] in KIND_BY_LAST_WORD:
            return KIND_BY_LAST_WORD[name_words[-1]]
        if titled:
            return "person"
    if text.startswith(_DEFINITION_STARTS, end):
        if _BORN.match(text, end):
            return "person"
        definition = _DEFINITION.match(text, end)
        if definition is not None:
            for word in _WORD.findall(definition["what"].casefold())[:_MOST_WORDS]:
                if word in KIND_BY_DEFINITION:
                    return KIND_BY_DEFINITION[word]
    # Queen Victoria, the director Agnès Varda: a title or a profession before the name.
    if text[start - 1 : start] == " " and LOOSE.isdisjoint(name_words):
        word_start = text.rfind(" ", max(0, start - _LONGEST_WORD), start - 1) + 1
        word = text[word_start : start - 1]
        if word.rstrip(".").casefold() in TITLES or KIND_BY_DEFINITION.get(word) == "person":
            return "person"
    return "name"
