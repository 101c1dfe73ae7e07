"""Search for Chinese names, which have neither spaces nor capitals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monograph import Document, Monograph
from monograph.search.names import LONGEST_UNSPACED, chinese_spans

PAGES = (
    ("寂静的港湾", "《寂静的港湾》是1921年上映的剧情片,由陈国安执导。影片讲述了两姐妹的故事。"),
    ("陈国安", "陈国安是一位电影导演,1886年出生于云台镇。家境贫寒,父亲是水手。"),
    ("云台镇", "云台镇位于沧江河畔,有2640名居民,还有一个中世纪的集市。"),
    ("遥远的果园", "《遥远的果园》是马丁·韦伯于1924年拍摄的电影。评论界称赞了摄影。"),
    ("马丁·韦伯", "马丁·韦伯来自白沙市,父亲在那里当印刷工。第一部电影完成于三十岁。"),
    ("白沙市", "白沙市坐落在湄水边,约有2300人居住;磨坊供游客参观。"),
    *((f"第{n}号仓库", f"第{n}号仓库出生登记处的父亲们讨论电影的摄影和河边的磨坊。") for n in range(20)),
)
ASKED = (
    ("《寂静的港湾》的导演出生在哪里?", {"0", "1"}),
    ("执导遥远的果园的人,其父亲从事什么职业?", {"3", "4"}),
    ("陈国安的出生地位于哪条河边?", {"1", "2"}),
    ("马丁·韦伯的故乡在哪条河旁?", {"4", "5"}),
)


@pytest.mark.parametrize("titled", [True, False])
@pytest.mark.parametrize(("question", "evidence"), ASKED)
def test_chinese_questions_find_both_hops(
    monograph: Monograph, question: str, evidence: set[str], titled: bool
) -> None:
    monograph.add([Document(text, id=str(n), title=title if titled else "") for n, (title, text) in enumerate(PAGES)])
    hits = monograph.search(question, k=2)
    assert {hit.chunk.document_id for hit in hits} == evidence


@given(st.text(alphabet="的了陈国安·云台镇a1, 。", max_size=60))
def test_spans_are_runs_of_the_text(text: str) -> None:
    found = list(chinese_spans(text))
    for start, end, key in found:
        assert text[start:end].replace("·", " ") == key
        assert 2 <= end - start <= LONGEST_UNSPACED
        assert text[start] not in "的了·a, 。"
        assert text[end - 1] not in "的了·a, 。"
    assert len(set(found)) == len(found)


def test_spans_include_names_within_a_sentence() -> None:
    assert {"陈国安", "云台镇", "马丁 韦伯"} <= {key for *_, key in chinese_spans("陈国安在云台镇见到了马丁·韦伯。")}
    assert not list(chinese_spans("Ada met Otto in 1921."))
