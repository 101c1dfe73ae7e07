"""Numbers written as words, which name nothing, even with a capital at the start of a sentence."""

from __future__ import annotations

from monograph.derive.extract.clues import words
from monograph.regex import regex

NUMBER_WORDS = words(
    """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen
hundreds thousands millions billions dozens
null ein eins eine zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn
siebzehn achtzehn neunzehn zwanzig dreißig dreissig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend
dutzend hunderte tausende dutzende millionen milliarden
cero uno una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis dieciseis
diecisiete dieciocho diecinueve veinte veintiuno veintiún veintidós veintitrés veinticuatro veinticinco veintiséis
veintisiete veintiocho veintinueve treinta cuarenta cincuenta sesenta setenta ochenta noventa cien ciento doscientos
quinientos mil cientos miles millones
zéro un une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize vingt vingts trente
quarante cinquante soixante septante octante nonante cent cents mille millions milliers
due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette
diciotto diciannove venti trenta quaranta cinquanta sessanta settanta ottanta novanta cento duecento mila milioni
dois duas três quatro cinco sete oito nove dez onze doze treze catorze quinze dezesseis dezasseis dezessete
dezassete dezoito dezenove dezanove vinte trinta quarenta cinquenta sessenta oitenta cem cento
nul een twee drie zes zeven negen tien twaalf dertien veertien vijftien zestien zeventien achttien negentien twintig
dertig veertig vijftig zestig zeventig tachtig negentig honderd duizend vier vijf acht elf
ноль один одна два две три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать
четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать двадцать тридцать сорок пятьдесят
шестьдесят семьдесят восемьдесят девяносто сто двести триста тысяча тысячи миллион миллионы
"""
)
JOINING = words("and und et y e en")
_UNITS = "ein|eine|zwei|drei|vier|fünf|sechs|sieben|acht|neun"
_COMPOUND = regex(
    rf"(?:(?:{_UNITS})?tausend)?(?:(?:{_UNITS})?hundert)?"
    rf"(?:(?:{_UNITS})?und(?:zwanzig|drei(?:ß|ss)ig|(?:vier|fünf|sech|sieb|acht|neun)zig)|\w*zehn|elf|zwölf|{_UNITS})?"
    r"|(?:een|twee|drie|vier|vijf|zes|zeven|acht|negen)[eë]n(?:twintig|(?:der|veer|vijf|zes|zeven|tach|negen)tig)"
    r"|(?:vent|trent|quarant|cinquant|sessant|settant|ottant|novant)[ia]?(?:uno|due|tre|tré|quattro|cinque|sei|sette"
    r"|otto|nove)"
)


def bare(word: str) -> str:
    """Return a word in small letters, without the punctuation around it."""
    return word.strip(".,'’").lower()


def is_number_word(word: str) -> bool:
    """Return whether a word is a number, in any of the languages with known function words: Eleven, Zwölf."""
    written = bare(word)
    if written in NUMBER_WORDS or (written and _COMPOUND.fullmatch(written) is not None):
        return True
    parts = written.split("-")
    return len(parts) > 1 and NUMBER_WORDS.issuperset(part for part in parts if part not in JOINING)
