"""Small runs of the soak, and the faults that it must find."""

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
from soak import commands, damage, harm, kills, process, record
from soak.corpus import document, open_file, text_of
from soak.process import Outcome, Tell
from soak.record import Fault, Tally
from soak.state import unlike_fresh_build
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
    page = tmp_path / "page.md"
    page.write_text(f"# Before\n{record.BEGIN}\nold\n{record.END}\nafter\n")
    ran = soak("--seed", "3", "--folder", str(tmp_path / "soak"), "--write", str(page), *SMALL)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert not (tmp_path / "soak").exists()
    written = page.read_text()
    assert written.startswith(f"# Before\n{record.BEGIN}\n")
    assert written.endswith(f"{record.END}\nafter\n")
    assert "old" not in written
    assert "seed 3" in written
    assert "\n| kills |" in written
    assert "| **all** |" in written


@pytest.mark.long
@pytest.mark.parametrize("part", ["kills", "crowd", "damage"])
def test_each_part_of_the_soak_finds_a_planted_fault(tmp_path: Path, part: str) -> None:
    folder = tmp_path / "soak"
    amounts = ("--kills", "8", "--seconds", "2", "--files", "1")
    ran = soak(part, "--plant", "--seed", "3", "--folder", str(folder), *amounts)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert f"FAULT {part}: seed 3" in ran.stdout
    assert f"again: cd tests && python -m soak {part} --seed 3" in ran.stdout
    assert list(folder.rglob("*.mono")), "the file is kept"


@pytest.fixture
def life(tmp_path: Path) -> commands.Life:
    """A file with some texts."""
    life = commands.Life(tmp_path / "x.mono", Random(1))
    for make in (commands.create, commands.add, commands.sync, commands.resummarize):
        command = make(life)
        process.run(partial(command.run, life.path)).result()
        life.state = command.after
    return life


def faults_of(life: commands.Life) -> str:
    """Return the faults that the soak finds in a file that should be unchanged."""

    def work(_: Tell) -> list[str]:
        with open_file(life.path) as monograph:
            found = kills.half_stored(monograph) + kills.wrong_searches(monograph)
        found += kills.faults_at_end(life.path, life.state)
        return found + unlike_fresh_build(life.path, life.state, [life.folder])

    outcome = process.run(work)
    return "; ".join(outcome.value) if outcome.how == "done" else str(outcome)


def test_soak_finds_nothing_in_a_sound_file(life: commands.Life) -> None:
    assert faults_of(life) == ""


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE texts SET text = replace(text, 'note', 'nose')", "at the end: '"),
        ("UPDATE chunks SET start = start + 4 WHERE ordinal = 0", "half there"),
        ("DELETE FROM vectors WHERE chunk = (SELECT min(chunk) FROM vectors)", "check"),
        (
            "UPDATE memo SET value = zeroblob(length(value)) WHERE kind = 'vector'",
            "vectors are not those of a fresh build",
        ),
        (
            "INSERT INTO cannot_link VALUES ('astrid lindholm', 'a lindholm'), ('a lindholm', 'astrid lindholm')",
            "entities are not those",
        ),
        ("UPDATE nodes SET rank = rank + 1 WHERE layer = 1", "tree are not those of a fresh build"),
    ],
)
@pytest.mark.long
def test_soak_finds_an_altered_file(life: commands.Life, statement: str, fault: str) -> None:
    with closing(sqlite3.connect(life.path)) as connection, connection:
        connection.executescript(statement)
    assert fault in faults_of(life)


def test_soak_finds_forgotten_words_in_the_bytes(life: commands.Life) -> None:
    assert kills.leaked_words(life.path, life.state) == []
    with life.path.open("ab") as file:
        file.write(text_of("gone").encode())
    (fault,) = kills.leaked_words(life.path, life.state)
    assert "forgotten words" in fault


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
    outcome = process.run(ends(how), 1.0)
    assert (outcome.how, outcome.messages) == (how, ("begun",))


def test_parallel_parts_report_while_they_run() -> None:
    heard: list[str] = []
    outcomes = list(process.run_parallel([ends("done"), ends("raised"), ends("crashed")], 2, heard.append))
    assert sorted(outcome.how for outcome in outcomes) == ["crashed", "done", "raised"]
    assert heard == ["begun"] * 3


def test_soak_kills_at_the_given_commit(life: commands.Life) -> None:
    def work(tell: Tell) -> None:
        die_at(2, "before")
        with open_file(life.path) as monograph:
            for number in range(4):
                monograph.add([document(f"z{number}", 1)])
                tell(number)

    outcome = process.run(work)
    assert (outcome.how, outcome.value) == ("crashed", "SIGKILL")


def original() -> harm.Original:
    return harm.Original("closed", {"": b"bytes"}, ({"one": "first text", "two": "second text"},))


def seen(texts: dict[str, str], *errors: str) -> damage.Seen:
    return damage.Seen(texts, {}, list(errors))


SOUND = {"one": "first text", "two": "second text"}
CHANGED = {"one": "first text", "two": "second next"}
LOST = {"one": "first text"}


@pytest.mark.parametrize(
    ("looks", "fault"),
    [
        ([seen(SOUND)], ""),
        ([seen(LOST, "check: two is damaged")], ""),
        ([seen(LOST)], "gone without a word: ['two']"),
        ([seen(CHANGED)], "other texts than were stored"),
        ([seen(CHANGED, "check: two is damaged")], ""),
        ([seen(SOUND, "check: words"), seen(LOST)], "and not after: ['two']"),
        ([seen(CHANGED, "check: two"), seen(CHANGED)], "once mended"),
    ],
)
def test_silent_loss_and_change_are_faults(tmp_path: Path, looks: list[damage.Seen], fault: str) -> None:
    damaged = harm.Damaged(original(), "altered", original().data)
    found = "; ".join(damage.faults_of(tmp_path / "x.mono", damaged, Outcome("done", None, tuple(looks))))
    assert (fault in found) if fault else found == ""


@pytest.mark.parametrize("how", ["raised", "crashed", "hung"])
def test_foreign_errors_are_faults(tmp_path: Path, how: str) -> None:
    damaged = harm.Damaged(original(), "altered", original().data)
    (found,) = damage.faults_of(tmp_path / "x.mono", damaged, Outcome(how, "why", ("open", "stats")))
    assert found == f"at stats: {how}: why"


def test_refused_file_stays_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    path.write_bytes(b"other")
    damaged = harm.Damaged(original(), "altered", original().data)
    (found,) = damage.faults_of(path, damaged, Outcome("refused", "DamagedFile"))
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
        record.replace_record("# A page", [], 1)


def test_record_names_each_fault() -> None:
    tally = Tally("kills", seconds=60.0)
    tally.count("add", "killed", 3)
    tally.faults.append(Fault("kills: seed 1, life 2", "a document is gone", "kills --seed 1 --life 2"))
    page = record.replace_record(f"{record.BEGIN}{record.END}", [tally], 1)
    assert "1 faults" in page
    assert "- kills: seed 1, life 2: a document is gone" in page
    assert "| add | 3 |" in page
