"""The soak, very small, and that it finds what is planted: it would be worth nothing if it found nothing."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random

import pytest

from monograph.errors import InputError
from monograph.store.file import encryption
from soak import commands, damage, harm, kills, page, process
from soak.corpus import document, opened, text_of
from soak.process import Outcome, Tell, apart, side_by_side
from soak.state import unlike_a_fresh_build
from soak.tally import Fault, Tally
from support.kill_at_commit import die_at
from support.paths import ROOT

SMALL = ("--kills", "4", "--seconds", "4", "--files", "10", "--jobs", "2")


@pytest.fixture(autouse=True)
def what_a_key_costs_is_no_part_of_this(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encryption, "ROUNDS", 1)


def soak(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "soak", *arguments], cwd=ROOT / "tests", capture_output=True, text=True, check=False
    )


@pytest.mark.long
def test_small_soak_finds_no_fault(tmp_path: Path) -> None:
    record = tmp_path / "page.md"
    record.write_text(f"# Before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    ran = soak("--seed", "3", "--folder", str(tmp_path / "soak"), "--write", str(record), *SMALL)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert not (tmp_path / "soak").exists()
    written = record.read_text()
    assert written.startswith(f"# Before\n{page.BEGIN}\n")
    assert written.endswith(f"{page.END}\nafter\n")
    assert "old" not in written
    assert "seed 3" in written
    assert [line for line in written.splitlines() if line.startswith("| kills |")]
    assert "| **all** |" in written


@pytest.mark.long
@pytest.mark.parametrize("part", ["kills", "crowd", "damage"])
def test_each_part_of_the_soak_finds_a_planted_fault(tmp_path: Path, part: str) -> None:
    ran = soak(
        part,
        "--plant",
        "--seed",
        "3",
        "--folder",
        str(tmp_path / "soak"),
        "--kills",
        "8",
        "--seconds",
        "2",
        "--files",
        "1",
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert f"FAULT {part}: seed 3" in ran.stdout
    assert f"again: cd tests && python -m soak {part} --seed 3" in ran.stdout
    assert list((tmp_path / "soak").rglob("*.mono")), "the file is kept"


@pytest.fixture
def life(tmp_path: Path) -> commands.Life:
    """A file with some texts."""
    life = commands.Life(tmp_path / "x.mono", Random(1))
    life.folder.mkdir(parents=True)
    for make in (commands.first, commands.add, commands.sync, commands.resummarize):
        command = make(life)
        apart(partial(command.run, life.path), 60)
        life.state = command.after
    return life


def looked_at(life: commands.Life) -> list[str]:
    """What the soak says of a file that is to be as it was."""

    def work(_: Tell) -> list[str]:
        with opened(life.path) as monograph:
            found = [*kills.half_there(monograph), *kills.searches(monograph)]
        found += kills.exact(life.path, life.state)
        return found + unlike_a_fresh_build(life.path, life.state, [life.folder])

    outcome = apart(work, 60)
    return outcome.value if outcome.how == "done" else [f"{outcome.how}: {outcome.value}"]


def test_soak_finds_nothing_in_a_sound_file(life: commands.Life) -> None:
    assert looked_at(life) == []


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE texts SET text = replace(text, 'note', 'nose')", "at the end: '"),
        ("DELETE FROM vectors WHERE chunk = (SELECT min(chunk) FROM vectors)", "check"),
        (
            "UPDATE memo SET value = zeroblob(length(value)) WHERE kind = 'vector'",
            "vectors are not those of a fresh build",
        ),
        (
            "INSERT INTO apart VALUES ('astrid lindholm', 'a lindholm'), ('a lindholm', 'astrid lindholm')",
            "entities are not those",
        ),
        ("UPDATE nodes SET rank = rank + 1 WHERE layer = 1", "tree are not those of a fresh build"),
    ],
)
@pytest.mark.long
def test_soak_finds_an_altered_file(life: commands.Life, statement: str, said: str) -> None:
    with closing(sqlite3.connect(life.path)) as connection, connection:
        connection.executescript(statement)
    assert said in "; ".join(looked_at(life))


def test_soak_finds_half_a_document(life: commands.Life) -> None:
    with closing(sqlite3.connect(life.path)) as connection, connection:
        connection.execute("UPDATE chunks SET start = start + 4 WHERE ordinal = 0")

    def work(_: Tell) -> list[str]:
        with opened(life.path) as monograph:
            return list(kills.half_there(monograph))

    outcome = apart(work, 60)
    assert "half there" in outcome.value[0]


def test_soak_finds_forgotten_words_in_the_bytes(life: commands.Life) -> None:
    assert kills.leaked(life.path, life.state) == []
    with life.path.open("ab") as file:
        file.write(text_of("gone").encode())
    (said,) = kills.leaked(life.path, life.state)
    assert "forgotten words" in said


def ends(how: str) -> process.Work:
    def work(tell: Tell) -> int:
        tell("begun")
        if how == "crashed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "hung":
            signal.pause()
        if how == "refused":
            raise InputError("no", "yes")
        if how == "raised":
            raise KeyError("no")
        return 7

    return work


@pytest.mark.parametrize("how", ["done", "refused", "raised", "crashed", "hung"])
def test_soak_reports_how_a_process_ends(how: str) -> None:
    outcome = apart(ends(how), 1.0)
    assert (outcome.how, outcome.said) == (how, ("begun",))
    assert bool(outcome.fault) == (how in ("raised", "crashed", "hung"))


def test_parallel_parts_report_while_they_run() -> None:
    heard: list[str] = []
    outcomes = list(side_by_side([ends("done"), ends("raised"), ends("crashed")], 2, heard.append))
    assert sorted(one.how for one in outcomes) == ["crashed", "done", "raised"]
    assert heard == ["begun"] * 3


def test_soak_kills_at_the_given_commit(life: commands.Life) -> None:
    def work(tell: Tell) -> None:
        die_at(2, "before")
        with opened(life.path) as monograph:
            for number in range(4):
                monograph.add([document(f"z{number}", 1)])
                tell(number)

    outcome = apart(work, 60)
    assert (outcome.how, outcome.value) == ("crashed", "SIGKILL")


def original() -> harm.Original:
    return harm.Original("closed", {"": b"bytes"}, ({"one": "first text", "two": "second text"},))


def seen(texts: dict[str, str], *said: str) -> damage.Seen:
    return damage.Seen(texts, {}, list(said))


@pytest.mark.parametrize(
    ("looks", "fault"),
    [
        ([seen({"one": "first text", "two": "second text"})], ""),
        ([seen({"one": "first text"}, "check: two is damaged")], ""),
        ([seen({"one": "first text"})], "gone without a word: ['two']"),
        ([seen({"one": "first text", "two": "second next"})], "other texts than were stored"),
        ([seen({"one": "first text", "two": "second next"}, "check: two is damaged")], ""),
        ([seen({"one": "first text", "two": "second text"}, "check: words"), seen({"one": "first text"})], "and not after: ['two']"),
        ([seen({"one": "first text", "two": "second next"}, "check: two"), seen({"one": "first text", "two": "second next"})], "once mended"),
    ],
)  # fmt: skip
def test_silent_loss_and_change_are_faults(tmp_path: Path, looks: list[damage.Seen], fault: str) -> None:
    made = harm.Damaged(original(), "altered", original().data)
    outcome = Outcome("done", None, tuple(("seen", one) for one in looks))
    found = "; ".join(damage._wrong(tmp_path / "x.mono", made, outcome))
    assert (fault in found) if fault else found == ""


@pytest.mark.parametrize("how", ["raised", "crashed", "hung"])
def test_foreign_errors_are_faults(tmp_path: Path, how: str) -> None:
    made = harm.Damaged(original(), "altered", original().data)
    (found,) = damage._wrong(tmp_path / "x.mono", made, Outcome(how, "why", ("open", "stats")))
    assert found == f"at stats: {how}: why"


def test_refused_file_stays_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    path.write_bytes(b"other")
    made = harm.Damaged(original(), "altered", original().data)
    (found,) = damage._wrong(path, made, Outcome("refused", "DamagedFile"))
    assert "and changed" in found


@pytest.mark.parametrize("change", sorted(harm.TO_FILE))
def test_damage_changes_bytes_and_repeats_with_its_seed(change: str) -> None:
    before = b"".join(text_of(str(number)).encode() for number in range(40)) * 4
    results = []
    for _ in range(2):
        chosen = Random(7)
        data = bytearray(before)
        for _ in range(4):
            harm.TO_FILE[change](data, chosen)
        results.append(bytes(data))
    assert results[0] == results[1] != before


def test_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="soak: begin"):
        page.written("# A page", [], 1)


def test_record_names_each_fault() -> None:
    tally = Tally()
    tally.count("add", "killed", 3)
    tally.faults.append(Fault("kills: seed 1, life 2", "a document is gone", "kills --seed 1 --life 2"))
    record = page.record([page.Ran("kills", tally, 60.0)], 1)
    assert "1 faults" in record
    assert "- kills: seed 1, life 2: a document is gone" in record
    assert "| add | 3 |" in record
