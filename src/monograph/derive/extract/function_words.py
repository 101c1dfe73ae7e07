"""Function words and number words, which name nothing: articles, pronouns, *eleven*, in eight languages.

A function word of one language may be a name in another (the German *war*, the French *son*). So only the words of a
text's own language apply to it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from monograph.regex import regex
from monograph.text_pass import compiled

if TYPE_CHECKING:
    from monograph.text_pass._text_pass import Lexicon

_ENGLISH = """
a about above according additionally after again against all almost alone along already also although always am
among an and another any anyone anything are around as at away back be became because become been before being below
between both but by can cannot could despite did do does doing done down due during each either else etc even ever
every everyone everything few first following for from further furthermore had has have having he hello her here
hers herself hey hi him himself his how however i if in indeed instead into is it its itself just last later least
less let like many may maybe me meanwhile might mine more moreover most much must my myself near neither never next
no nobody none nor not nothing now of off often oh ok okay on once one only onto or other others otherwise our ours
out over own per perhaps please quite rather really said same second several shall she should since so some someone
something sometimes soon still such sure than thank thanks that the their theirs them themselves then there
therefore these they thing things third this those though three through throughout thus to today together tomorrow
too toward towards two under unless until up upon us very via was we well were what whatever when whenever where
whereas wherever whether which while who whom whose why will with within without would yeah yes yesterday yet you
your yours yourself
additionally currently eventually finally formerly historically initially originally previously recently shortly
subsequently
"""

_GERMAN = """
aber alle allem allen aller allerdings alles als also am an ander andere anderen anderer andern auch auf aus
außerdem bei beim bin bis bist da dabei dadurch dafür dagegen daher damit danach dann daran darauf daraus darin
darüber das dass dazu dein deine dem den denn der deren des deshalb dessen die dies diese diesem diesen dieser
dieses doch dort du durch ein eine einem einen einer eines ebenfalls einige einigen er erst es etwa etwas euch euer
für gegen gibt habe haben hat hatte hatten heute hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im
immer in indem ins ist ja jede jedem jeden jeder jedes jedoch jetzt kann kein keine keinem keinen keiner können
könnte laut man mehr mein meine mich mir mit muss nach nachdem neben nicht nichts noch nun nur ob obwohl oder ohne
schon sehr sein seine seinem seinen seiner seit sich sie sind so sogar solche soll sollte somit sondern sowie sowohl
später trotz über um und uns unser unter viel viele vom von vor während war waren warum was wegen weil weiter welche
welcher welches wenn wer werden wie wieder will wir wird wo wurde wurden zu zum zur zwar zwischen
"""

_SPANISH = """
a además al algo algunas algunos ante antes aquel aquella aquí así aun aunque bajo bien cada casi como con contra
cual cuales cuando cuyo de del desde después donde dos durante e el él ella ellas ellos en entonces entre era eran
es esa ese eso esta está estaba están este esto estos fue fueron gracias ha había habían hacia han hasta hay la las
le les lo los luego más me mediante mi mientras mis mucho muchos muy nada ni no nos nosotros nuestra nuestro o os
otra otras otro otros para pero poco por porque primero pues que qué quien quién se según ser si sí sido sin sobre
solo son su sus también tan tanto te tenía tiene todo todos tras tu tus un una unas uno unos usted y ya yo
"""

_FRENCH = """
à afin ai ainsi alors après au aucun aussi autre autres aux avant avec avait c car ce ceci cela celle celui
cependant ces cet cette ceux chaque chez comme contre d dans de depuis des deux donc dont du durant elle elles en
encore entre est et été était étaient être eu fait fut grâce il ils j je jusque l la là le les leur leurs lors
lorsque lui m ma mais même mes moins mon n ne ni nos notre nous on ont ou où par parce pas pendant peu plus pour
pourquoi puis qu quand que quel quelle qui quoi s sa sans se selon ses si sinon son sont sous sur ta tandis te tes
ton toutefois toujours tous tout toute toutes très tu un une vers voici voilà vos votre vous y
"""

_ITALIAN = """
a ad agli ai al alla alle anche ancora avere che chi ci coi col come con contro cui da dagli dai dal dalla dalle
degli dei del della delle dello di dopo dove durante e ed era erano essere fra gli ha hanno i il in infatti io l la
le lei lo loro lui ma mentre mi mia mio ne negli nei nel nella nelle no noi non nostro o ogni per perché però più
poi prima qual quale quando quella quello questa questi questo qui se secondo si sia sono sopra stata stato su sua
sugli sui sul sulla suo suoi tra tutti tutto un una uno vi voi
"""

_PORTUGUESE = """
a ao aos após as às até cada com como contra da das de dela dele depois do dos durante e é ela elas ele eles em
entre era eram essa esse esta está este eu foi foram há isso já la lhe mais mas me mesmo meu minha muito na não nas
nem no nos nossa nosso num numa o onde os ou para pela pelas pelo pelos por porque quando que quem se segundo sem
ser seu seus sobre sua suas também te tem tinha todos um uma você
"""

_DUTCH = """
aan al als altijd ander andere bij dan dat de deze die dit doch doen door dus echter een en er ge geen haar had
hebben heeft hem het hier hij hoe hun ik in is ja je kan maar me meer men met mijn na naar niet niets nog nu of om
omdat onder ons ook op over reeds te tegen toch toen tot u uit uw van veel voor want waren was wat wel werd wie wij
wil worden wordt ze zelf zich zij zijn zo zonder zou
"""

_RUSSIAN = """
а без бы был была были было быть в вам вас весь во вот все всё вы где да даже для до его ее её если есть еще ещё же за
здесь и из или им их к как ко когда кто ли мне мой мы на над нам нас не него нее неё нет ни них но ну о об однако он
она они оно от по под после потом потому при про с сам свой себя со так также там тем то тогда того тоже только том
тот ты у уже хотя чем через что чтобы эта эти это этого этой этом этот я
"""

FUNCTION_WORDS = {
    "english": frozenset(_ENGLISH.split()),
    "german": frozenset(_GERMAN.split()),
    "spanish": frozenset(_SPANISH.split()),
    "french": frozenset(_FRENCH.split()),
    "italian": frozenset(_ITALIAN.split()),
    "portuguese": frozenset(_PORTUGUESE.split()),
    "dutch": frozenset(_DUTCH.split()),
    "russian": frozenset(_RUSSIAN.split()),
}
"""Function words by language, in lower case, with accents."""

_ASKING = """
who what when where which whose whom how why is was are were did do does same both wer wann wo welche quién qué cuándo
dónde cuál
"""
ASKING_WORDS = frozenset(_ASKING.split())
"""Words that make a sentence a question, such as interrogatives. Answers do not repeat them."""

LOOKED_AT = 200
LOOKED_AT_CHARACTERS = 4_000
"""Maximum number of characters read to find the language of a text; reading also stops after LOOKED_AT words."""


@functools.cache
def compiled_words() -> Lexicon:
    """Return the function words as a compiled lexicon. It is built once per process."""
    return compiled.Lexicon({}, FUNCTION_WORDS)


def language_of(text: str) -> str:
    """Return the language with the most function words in a text, a key of FUNCTION_WORDS.

    If several have equally many, return the first in FUNCTION_WORDS. A text without function words is ``english``.
    """
    return compiled_words().language_of(text, LOOKED_AT_CHARACTERS, LOOKED_AT)


_NUMBERS = """
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
NUMBER_WORDS = frozenset(_NUMBERS.split())
"""Numbers written as words. They are no names, even with a capital at the start of a sentence."""

JOINING = frozenset(("and", "und", "et", "y", "e", "en"))
_UNITS = "ein|eine|zwei|drei|vier|fünf|sechs|sieben|acht|neun"
_COMPOUND = regex(
    rf"(?:(?:{_UNITS})?tausend)?(?:(?:{_UNITS})?hundert)?"
    rf"(?:(?:{_UNITS})?und(?:zwanzig|drei(?:ß|ss)ig|(?:vier|fünf|sech|sieb|acht|neun)zig)|\w*zehn|elf|zwölf|{_UNITS})?"
    r"|(?:een|twee|drie|vier|vijf|zes|zeven|acht|negen)[eë]n(?:twintig|(?:der|veer|vijf|zes|zeven|tach|negen)tig)"
    r"|(?:vent|trent|quarant|cinquant|sessant|settant|ottant|novant)[ia]?(?:uno|due|tre|tré|quattro|cinque|sei|sette"
    r"|otto|nove)"
)


def strip_punctuation(word: str) -> str:
    """Return a word in lower case, without the punctuation before and after it."""
    return word.strip(".,'’").lower()


def is_number_word(word: str) -> bool:
    """Return whether a word is a number, in any of the languages with known function words: Eleven, Zwölf."""
    written = strip_punctuation(word)
    if written in NUMBER_WORDS or (written and _COMPOUND.fullmatch(written) is not None):
        return True
    parts = written.split("-")
    return len(parts) > 1 and NUMBER_WORDS.issuperset(part for part in parts if part not in JOINING)
