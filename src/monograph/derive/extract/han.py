"""Names and terms of Chinese text. It has neither spaces nor capitals, so only names with other evidence are found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from monograph.regex import regex

MOST_TERMS = 64
CHARACTERS_A_TERM = 40
"""A text of n Chinese characters gets at most max(1, n / CHARACTERS_A_TERM) repeated terms."""

LONGEST_TERM = 8

_SURNAMES = (
    "王李张刘陈杨赵吴徐孙胡朱郭梁宋郑谢韩唐冯董萧曹袁邓傅沈彭吕苏卢蒋蔡贾魏薛"
    "阎潘杜戴钟汪姜范姚谭廖邹熊孟秦邱侯尹黎陶贺郝龚邵钱"
)
"""The most common surnames, except those that are also everyday words (see _MORE_SURNAMES)."""

_MORE_SURNAMES = "周林黄何罗许方高马余叶程任石江"
"""Common surnames that are also everyday words. They count as surnames only after a role (导演, *director*)."""

_AFTER_PERSON = (
    "先生|女士|小姐|教授|博士|老师|医生|律师|总统|主席|经理|说|表示|认为|指出|出生"
    "|执导|导演|主演|饰演|编剧|创作|撰写|拍摄"
)
_ROLES = "导演|编剧|主演|演员|歌手|作家|作者|诗人|画家|作曲家|科学家|皇帝|国王|总统|总理|主席|教授"
_PLACES = "镇|县|市|省|村|乡|岛|区|古城|山|河|江|湖|大学"
_FOREIGN = (
    "阿埃艾爱安昂奥巴班邦保鲍贝本比彼宾波伯博勃布查达戴丹道德登迪蒂丁杜顿多恩尔法菲费芬弗福佛夫盖甘冈高戈"
    "哥格古圭哈海汉翰豪赫亨胡霍基吉加贾杰金卡凯坎康考科柯克肯库奎拉莱赖兰朗劳勒雷里利莉丽连列林琳隆卢鲁露"
    "伦罗洛马玛迈麦曼芒毛梅门蒙米密缅明摩莫默姆穆拿纳娜南内尼妮宁纽诺帕潘庞培佩彭皮普契乔切琴丘让热仁日荣"
    "茹瑞若撒萨塞赛桑瑟森沙莎珊尚舍申圣什施史士朔斯丝思司松苏索塔泰坦汤唐陶特藤提廷图托瓦万旺威维韦魏温文"
    "翁沃乌伍武西希锡夏肖谢辛欣休雪亚延扬耶叶伊依因英尤于约扎詹珍泽朱兹佐"
)
"""Characters that write foreign names by their sound."""

_HAN = regex("[\u3400-\u4dbf\u4e00-\u9fff]+")
_PARTICLES = regex("[的了是在和与或及对于把被从到向为以并也都就不有这那其之所等中上下个们我你他她它吗呢吧啊]")
_BY_SOUND = regex(f"[{_FOREIGN}]{{1,6}}(?:[·•・][{_FOREIGN}]{{1,6}}){{1,3}}(?<!于)")
_BY_GLOSS = regex(f"[{_FOREIGN}]{{2,6}}(?= ?[(（][A-ZÀ-Þ])")
_BY_SURNAME = regex(
    rf"(?:(?<![\u3400-\u9fff])|(?<=[和与及对跟向是]))(?P<who>[{_SURNAMES}][\u4e00-\u9fff]{{1,2}}?)(?={_AFTER_PERSON})"
)


_END = r"[,\uff0c\u3002;\uff1b\u3001()\uff08\uff09\s]|$"
_AFTER_ROLE = regex(
    rf"(?:(?:{_ROLES})[是为]?(?P<who>[{_SURNAMES}{_MORE_SURNAMES}][\u4e00-\u9fff]{{1,2}}?)"
    rf"|[由是](?P<by>[{_SURNAMES}][\u4e00-\u9fff]{{1,2}}?))(?={_END}|[于的和与在是自来从]|{_AFTER_PERSON})"
)
_PLACED = regex(
    rf"(?:位于|坐落[在于]|出生[于在]|生于|来自|前往|在|于)(?P<where>[\u4e00-\u9fff]{{2,5}}?(?:{_PLACES}))"
    rf"(?={_END}|[的和与是举录拍建边岸河])"
)
_OPENING = regex(
    r"\s*(?P<what>[\u4e00-\u9fff]{2,7}?)"
    r"(?=是(?:一|位于|中国)|位于|坐落|建[在于]|(?:\d{4}年)?(?:出生|生)[于在]|[(\uff08](?:[^()\uff08\uff09]{0,20}生于|\d{4}))"
)
"""Matches the first words of a text as the group ``what``, if the words after them read like a definition."""


def has_chinese(text: str) -> bool:
    """Return whether a text contains at least one Chinese character."""
    return not text.isascii() and _HAN.search(text) is not None


def han_names(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, kind) of the names in a Chinese text: foreign names, persons, places, the text's subject.

    - A foreign name has a dot (卡万·肖特), or is followed by a bracket in Latin letters.
    - A person's name begins with a surname. A word such as 导演 (*director*) precedes the name, or a word such as 教授
      (*professor*) or 说 (*says*) follows it.
    - A place follows a word such as 位于 (*lies in*), and ends in a word such as 市 (*city*).
    - The subject is the name that the text begins with and then defines.

    If one occurrence of a person, a place or the subject is found in this way, all its occurrences are yielded.
    """
    for match in _BY_SOUND.finditer(text):
        yield (*match.span(), "person")
    for match in _BY_GLOSS.finditer(text):
        yield (*match.span(), "name")
    kinds = {match["who"]: "person" for match in _BY_SURNAME.finditer(text)}
    kinds |= {match["who"] or match["by"]: "person" for match in _AFTER_ROLE.finditer(text)}
    kinds |= {match["where"]: "place" for match in _PLACED.finditer(text) if not _PARTICLES.search(match["where"])}
    opening = _OPENING.match(text)
    if opening is not None and not _PARTICLES.search(opening["what"]):
        kinds.setdefault(opening["what"], "name")
    if kinds:
        longest = sorted(kinds, key=lambda name: (-len(name), name))
        for match in re.finditer("|".join(longest), text):
            yield (*match.span(), kinds[match.group()])


def han_terms(text: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of the repeated terms in a Chinese text, in order. CHARACTERS_A_TERM limits their number.

    A term is a run of two to eight characters, without particles, that occurs more than once. A run that occurs only
    inside a longer term is left out.
    """
    pieces = []
    for run in _HAN.finditer(text):
        start = run.start()
        for part in _PARTICLES.split(run.group()):
            if len(part) > 1:
                pieces.append((start, part))
            start += len(part) + 1
    room = min(MOST_TERMS, max(1, sum(len(part) for _, part in pieces) // CHARACTERS_A_TERM))
    counts = _count_repeated([part for _, part in pieces])
    best = sorted(counts, key=lambda term: (-counts[term] * (len(term) - 1), term))[:room]
    yield from sorted(
        (start + match.start(), start + match.end())
        for term in best
        for start, part in pieces
        if term in part
        for match in re.finditer(term, part)
    )


def _count_repeated(parts: list[str]) -> dict[str, int]:
    """Count each repeated run of characters in ``parts``. Drop runs that occur only inside a longer repeated run."""
    repeated: dict[str, int] = {}
    shorter = {character for part in parts for character in part}
    for length in range(2, LONGEST_TERM + 1):
        counts = Counter(
            part[index : index + length]
            for part in parts
            for index in range(len(part) - length + 1)
            if part[index : index + length - 1] in shorter
        )
        longer = {run: count for run, count in counts.items() if count > 1}
        for run, count in longer.items():
            for inner in (run[:-1], run[1:]):
                if repeated.get(inner) == count:
                    del repeated[inner]
        repeated |= longer
        shorter = set(longer)
    return repeated
