"""Synthetic questions that need two pages, in three languages: invented films, directors and towns.

They are the same in every run; we have no such questions in Chinese or German. Each page uses one of three templates.
Each question needs two pages: those of a film and its director, or of a director and the town. The pages of all
languages say the same, so the figures of the languages can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass

from monograph import Document
from monograph.evaluate.datasets import EvaluationQuestion, QuestionSet

PAGES = 20
"""Number of films, of directors, and of towns."""


@dataclass(frozen=True)
class Language:
    """Names and templates: ``{f}`` is a film, ``{d}`` its director, ``{t}`` the town, ``{r}`` a river."""

    films: tuple[str, ...]
    directors: tuple[str, ...]
    towns: tuple[str, ...]
    rivers: tuple[str, ...]
    jobs: tuple[str, ...]
    film_pages: tuple[str, ...]
    director_pages: tuple[str, ...]
    town_pages: tuple[str, ...]
    born: tuple[str, ...]
    parent: tuple[str, ...]
    river: tuple[str, ...]


def _crossed(first: str, last: str, join: str) -> tuple[str, ...]:
    """Return twenty names: each pair of five first and four last parts once."""
    one, other = first.split(), last.split()
    return tuple(join.join((one[n % len(one)], other[n % len(other)])) for n in range(PAGES))


ENGLISH = Language(
    films=_crossed("Silent Distant Golden Winter Hidden", "Harbour Orchard Bridge Mirror", " "),
    directors=_crossed("Martha Edwin Clara Hugo Irene", "Wexford Hallam Brookner Pellow", " "),
    towns=_crossed("Elder Stone Wind Ash Mill", "ford wick haven combe", ""),
    rivers=("Orlen", "Tarn Water", "Vessel", "Lower Isk", "Meddle"),
    jobs=("a miller", "a teacher", "a printer", "a sailor"),
    film_pages=(
        "{f} is a drama film of {y}. It was directed by {d} and shown first in {o}. The film is about two sisters.",
        "{f} is a {y} film by the director {d}. Critics praised the camera; the music was recorded in {o}.",
        "The comedy {f} came to the cinemas in {y}. Its director was {d}, who had written the script as well.",
    ),
    director_pages=(
        "{d} was a film director, born in {t} in {b}. The parents were poor; {d}'s father was {j}.",
        "{d}, born in {b} in {t}, made eleven films. The father was {j} and wanted another trade for the child.",
        "Film director {d} came from {t}, where the father worked as {j}. The first film followed at the age of thirty.",
    ),
    town_pages=(
        "{t} is a town on the river {r}. It has {n} inhabitants and a market from the Middle Ages.",
        "The town of {t} lies on the {r}. About {n} people live there; the mill is shown to visitors.",
        "{t} was founded on the banks of the {r}. The town counts {n} inhabitants.",
    ),
    born=("Where was the director of {f} born?", "In which town was the director of the film {f} born?"),
    parent=("What was the job of the father of the director of {f}?", "What did the father of the director of {f} do?"),
    river=("On which river lies the town in which {d} was born?", "Which river flows through the home town of {d}?"),
)
GERMAN = Language(
    films=_crossed("Stiller Ferner Goldener Winterlicher Verborgener", "Hafen Garten Steg Spiegel", " "),
    directors=_crossed("Martha Edwin Klara Hugo Irene", "Wexbach Hallmann Brückner Pellau", " "),
    towns=_crossed("Erlen Stein Wind Eschen Mühl", "furt wiek hafen kamm", ""),
    rivers=("Orle", "Tarne", "Wesse", "Iske", "Medel"),
    jobs=("Müller", "Lehrer", "Drucker", "Seemann"),
    film_pages=(
        "{f} ist ein Filmdrama aus dem Jahr {y}. Regie führte {d}, die Uraufführung fand in {o} statt. Der Film handelt von "
        "zwei Schwestern.",
        "{f} ist ein Film von {d} aus dem Jahr {y}. Die Kritik lobte die Kamera; die Musik wurde in {o} aufgenommen.",
        "Die Komödie {f} kam {y} in die Kinos. Die Regie hatte {d}, von der Hand stammt auch das Drehbuch.",
    ),
    director_pages=(
        "{d} wurde {b} in {t} geboren und machte elf Filme. Die Eltern waren arm, der Vater war {j}.",
        "{d}, geboren {b} in {t}, gehört zu den Großen der Filmregie. Der Vater war {j} und wollte ein anderes Handwerk.",
        "{d} stammte aus {t}, wo der Vater als {j} arbeitete. Der erste Film entstand im Alter von dreißig Jahren.",
    ),
    town_pages=(
        "{t} ist eine Stadt am Fluss {r}. Sie hat {n} Einwohner und einen Markt aus dem Mittelalter.",
        "Die Stadt {t} liegt an der {r}. Etwa {n} Menschen leben dort; die Mühle wird Besuchern gezeigt.",
        "{t} wurde am Ufer der {r} gegründet. Die Stadt zählt {n} Einwohner.",
    ),
    born=("Wo wurde der Regisseur von {f} geboren?", "In welcher Stadt kam die Regie des Films {f} zur Welt?"),
    parent=("Welchen Beruf hatte der Vater des Regisseurs von {f}?", "Was war der Vater des Regisseurs von {f}?"),
    river=(
        "An welchem Fluss liegt die Stadt, in der {d} geboren wurde?",
        "Welcher Fluss fließt durch den Geburtsort von {d}?",
    ),
)
CHINESE = Language(
    films=_crossed("寂静 遥远 金色 冬日 隐秘", "港湾 果园 石桥 镜子", "的"),
    directors=("林海涛", "周玉兰", "马丁·韦伯", "陈国安", "克拉拉·霍尔姆", "黄秀英", "雨果·佩洛", "赵文博", "沈若琳", "艾琳·布鲁克", "郭子明", "许佳慧", "埃德温·哈勒", "罗建平", "方晓梅", "玛莎·维克", "吴天佑", "何思远", "托马斯·贝伦", "唐婉清"),
    towns=_crossed("青河 石门 云台 柳溪 白沙", "镇 县 市 古城", ""),
    rivers=("沧江", "湄水", "清溪河", "北盘河", "洛川"),
    jobs=("磨坊工人", "教师", "印刷工", "水手"),
    film_pages=(
        "《{f}》是{y}年上映的剧情片,由{d}执导,首映在{o}举行。影片讲述了两姐妹的故事。",
        "《{f}》是导演{d}于{y}年拍摄的电影。评论界称赞了摄影,配乐在{o}录制。",
        "喜剧片《{f}》于{y}年登上银幕。该片的导演是{d},剧本也出自同一人之手。",
    ),
    director_pages=(
        "{d}是一位电影导演,{b}年出生于{t}。家境贫寒,父亲是{j}。",
        "{d}({b}年生于{t})一生拍了十一部电影。父亲是{j},希望孩子学另一门手艺。",
        "电影导演{d}来自{t},父亲在那里当{j}。第一部电影完成于三十岁。",
    ),
    town_pages=(
        "{t}位于{r}河畔,有{n}名居民,还有一个中世纪的集市。",
        "{t}坐落在{r}边,约有{n}人居住;磨坊供游客参观。",
        "{t}建在{r}岸边,人口为{n}。",
    ),
    born=("《{f}》的导演出生在哪里?", "电影{f}的导演出生于哪个地方?"),
    parent=("《{f}》的导演的父亲是做什么的?", "执导{f}的人,其父亲从事什么职业?"),
    river=("{d}的出生地位于哪条河边?", "{d}的故乡在哪条河旁?"),
)  # fmt: skip
LANGUAGES = {"en": ENGLISH, "de": GERMAN, "zh": CHINESE}


def two_hops(name: str) -> QuestionSet:
    """Return sixty pages in ``en``, ``de`` or ``zh``, and sixty questions, each with two pages as evidence."""
    told = LANGUAGES[name]
    documents, questions = [], []
    for n in range(PAGES):
        # The factors share no divisor with PAGES, so each director and town is used once, and never as number n.
        director, town, elsewhere = (7 * n + 3) % PAGES, (9 * n + 5) % PAGES, (3 * n + 11) % PAGES
        of_director = (9 * director + 5) % PAGES
        facts = {"f": told.films[n], "d": told.directors[director], "o": told.towns[elsewhere], "y": 1921 + 3 * n}
        own = {"d": told.directors[n], "t": told.towns[town], "b": 1880 + 2 * n, "j": told.jobs[n % len(told.jobs)]}
        place = {"t": told.towns[n], "r": told.rivers[n % len(told.rivers)], "n": 2300 + 170 * n}
        for kind, title, pages, said in (
            ("film", told.films[n], told.film_pages, facts),
            ("director", told.directors[n], told.director_pages, own),
            ("town", told.towns[n], told.town_pages, place),
        ):
            documents.append(Document(pages[n % len(pages)].format(**said), id=f"{kind}-{n}", title=title))
        asked = (
            ("born", told.born, {"f": told.films[n]}, (f"film-{n}", f"director-{director}"), told.towns[of_director]),
            (
                "parent",
                told.parent,
                {"f": told.films[n]},
                (f"film-{n}", f"director-{director}"),
                told.jobs[director % 4],
            ),
            ("river", told.river, {"d": told.directors[n]}, (f"director-{n}", f"town-{town}"), told.rivers[town % 5]),
        )
        for kind, ways, said, evidence, answer in asked:
            text = ways[n % len(ways)].format(**said)
            questions.append(EvaluationQuestion(f"{name}-{kind}-{n}", text, (answer,), evidence, kind))
    return QuestionSet(f"two-hops-{name}", tuple(documents), tuple(questions))
