"""How far a run is, told from records at every stage, and to those who watch as they change."""

import asyncio
import json
import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from pgassay.live import progress
from pgassay.live.progress import FINISHED, INTERRUPTED, KILLED, NOTHING_YET, Seconds, Watched, events
from pgassay.probe.server_views import KINDS
from pgassay.record import live_sample
from pgassay.record.directory import RunDirectory
from pgassay.record.journal import Decision, Kind, Step
from pgassay.record.live_sample import LiveSample
from pgassay.record.reading import Run
from pgassay.report import charts
from pgassay.report.findings import Findings
from pgassay.report.headline import case_of
from pgassay.testing.planted import make_run
from tests.report.cut_runs import make_cuts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run", finished=False).path


@pytest.fixture
def going(path: Path) -> Iterator[RunDirectory]:
    """A run that this process writes, with a trial under way."""
    if not Path("/proc/locks").exists():
        pytest.skip("no /proc/locks here")
    with RunDirectory.open(path) as run:
        run.resumed()
        run.begin_trial(run.next_number, {"block": 9, "attempt": 1, "arm": "table.fillfactor=75"})
        yield run


def test_a_finished_run_has_its_answer_its_schedule_and_its_decisions(runs: Path) -> None:
    told = Watched(runs / "one").progress()
    assert (told.state, told.note, told.can_stop) == (FINISHED, "", False)
    assert "75 is better than 100" in told.answer.sentences[0]
    assert told.answer.figure["description"].startswith("What changed against table.fillfactor=100")
    assert told.said[-1].text == "finished: every verdict is settled"


def test_a_killed_run_says_so(path: Path) -> None:
    told = Watched(path).progress()
    assert (told.state, told.doing, told.can_stop) == (KILLED, "", False)
    assert case_of(Findings(Run.open(path))).interrupted, "the report of it offers pgassay resume"


def test_an_interrupted_run_says_so(path: Path) -> None:
    with RunDirectory.open(path) as run:
        run.begin_trial(run.next_number, {"block": 9, "attempt": 1, "arm": "x"})
        run.interrupted("signal")
    told = Watched(path).progress()
    assert told.state == INTERRUPTED
    assert told.said[-1].text == "interrupted: signal"
    assert told.places[-1].state == "given up"


def test_a_run_that_goes_on_shows_what_runs(going: RunDirectory) -> None:
    told = Watched(going.path).progress()
    assert (told.state, told.can_stop) == ("running", True)
    assert told.doing == "block 9: table.fillfactor=75"
    assert not case_of(Findings(Run.open(going.path))).interrupted
    assert re.fullmatch(r"at most \d+ (s|min)( \d+ s)? left", told.left)
    assert [each.block for each in told.places if each.state == "running"] == [9]


def test_before_the_first_look_there_is_no_verdict(tmp_path: Path) -> None:
    made = make_run(tmp_path / "run", finished=False, discarded=False).path
    with RunDirectory.create(
        tmp_path / "new", RunDirectory.open(made).header, (made / "study.toml").read_text(), {}
    ) as run:
        told = Watched(run.path).progress()
        assert told.answer.sentences == (NOTHING_YET,)
        assert told.note == "no verdict before block 5: 0 whole blocks so far"
        run.begin_trial(1, {"block": 3, "attempt": 1, "arm": "x"})
        assert Watched(run.path).progress().note == "no verdict before block 5: 2 whole blocks so far"
        for arm, block in (("y", 3), ("x", 4)):
            run.decide(Decision(Step.NEXT, "", 0.0, 0.0, arm, block=block).as_data())
            note = Watched(run.path).progress().note
            assert note == f"no verdict before block 5: {block - 1} whole blocks so far"


def test_a_block_that_was_cut_short_is_not_whole(tmp_path: Path, path: Path) -> None:
    header, study = Run.open(path).header, (path / "study.toml").read_text()
    with RunDirectory.create(tmp_path / "new", header, study, {}) as run:
        run.begin_trial(1, {"block": 5, "attempt": 1, "arm": "x"})
        run.interrupted("signal")
    assert Watched(run.path).progress().note == "no verdict before block 5: 4 whole blocks so far"


def test_a_damaged_study_ends_no_page(path: Path) -> None:
    (path / "study.toml").write_bytes(b"\xff = [")
    (sentence,) = Watched(path).progress().answer.sentences
    assert sentence.startswith("no report can be made of this run")


def test_turns_and_seconds_become_rates(going: RunDirectory) -> None:
    watched = Seconds(going.path)
    assert watched.more() == (True, [])
    staging = next((going.path / "trials").glob(".staging-*"))
    second = 10**9
    live_sample.append(
        staging, LiveSample(second, 0, "slices", {"tps": 100.0, "latency_ms": None, "written_bytes_per_s": 2.0**20})
    )
    live_sample.append(staging, LiveSample(second, 0, "wal", {"wal_bytes": 1.0}))
    live_sample.append(staging, LiveSample(3 * second, 0, "wal", {"wal_bytes": 1.0 + 2**22, "records": None}))
    live_sample.append(staging, LiveSample(4 * second, 0, "wal", {"wal_bytes": 0.0}))
    for looks, lock in ((10.0, 5.0), (20.0, 25.0)):
        live_sample.append(
            staging, LiveSample(round(looks * second), 0, "waits", {"looks": looks, "lock": lock, "all": 99.0})
        )
    (staging / "pgbench.err").write_text("progress: 1.0 s, 50.5 tps, lat 2.000 ms stddev 0.1, 0 failed\nprogress: 2.")
    fresh, rows = watched.more()
    assert not fresh
    assert [(each.panel, each.series, each.second, each.value) for each in rows] == [
        ("transactions per second", "table.fillfactor=75", 0.0, 100.0),
        ("device: written, MB/s", "table.fillfactor=75", 0.0, 1.0),
        ("WAL, MB/s", "table.fillfactor=75", 2.0, 2.0),
        ("backends", "lock", 19.0, 2.0),
        ("transactions per second", "table.fillfactor=75", 1.0, 50.5),
        ("latency, ms", "table.fillfactor=75", 1.0, 2.0),
    ]
    assert watched.more() == (False, [])


def test_trials_of_a_block_come_and_go_one_by_one(tmp_path: Path) -> None:
    """And nothing is told twice, nor taken for over until others run."""

    def told(number: int, tps: float) -> None:
        folder = tmp_path / "trials" / f".staging-{number:06d}"
        folder.mkdir(parents=True, exist_ok=True)
        live_sample.append(folder, LiveSample(round(tps), 0, "slices", {"tps": tps}))

    def over(number: int) -> None:
        shutil.rmtree(tmp_path / "trials" / f".staging-{number:06d}")

    watched = Seconds(tmp_path)
    seen = []
    steps: list[Callable[[], None]] = [
        lambda: told(1, 10.0),
        lambda: told(2, 20.0),
        lambda: over(1),
        lambda: told(2, 21.0),
        lambda: over(2),
        lambda: told(3, 30.0),
    ]
    for act in steps:
        act()
        fresh, rows = watched.more()
        seen.append((fresh, [each.value for each in rows]))
    assert seen == [(True, [10.0]), (False, [20.0]), (False, []), (False, [21.0]), (False, []), (True, [30.0])]


def test_a_line_that_is_not_whole_is_read_when_it_is(tmp_path: Path) -> None:
    live_sample.append(tmp_path, LiveSample(1, 2, "wal", {"a": 1.0}))
    whole = (tmp_path / live_sample.FILE).read_bytes()
    (tmp_path / live_sample.FILE).write_bytes(whole + b"rubbish\n" + whole[:9])
    found, offset = live_sample.read(tmp_path)
    assert found == [LiveSample(1, 2, "wal", {"a": 1.0})]
    (tmp_path / live_sample.FILE).write_bytes(whole + b"rubbish\n" + whole)
    assert live_sample.read(tmp_path, offset) == ([LiveSample(1, 2, "wal", {"a": 1.0})], 2 * len(whole) + 8)


def test_a_disk_that_refuses_a_line_does_no_harm(tmp_path: Path) -> None:
    live_sample.append(tmp_path / "not there", LiveSample(1, 2, "wal", {}))
    assert live_sample.read(tmp_path / "not there") == ([], 0)


def told_of(path: Path, change: Any, count: int) -> list[tuple[str, Any]]:
    """The first events of a run that `change` is made to after the first ones."""

    async def collect() -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        async with aclosing(events(Watched(path), every_s=0.01)) as stream:
            async for piece in stream:
                for text in piece.decode().split("\n\n"):
                    if text.startswith("event:"):
                        name, _, data = text.partition("\ndata: ")
                        found.append((name.removeprefix("event: "), json.loads(data)))
                if len(found) == 1:
                    change()
                if len(found) >= count:
                    return found
        return found

    return asyncio.run(asyncio.wait_for(collect(), 180))


def test_who_watches_is_told_of_every_change(path: Path) -> None:
    def go_on() -> None:
        with RunDirectory.open(path) as run:
            run.finish("enough")

    first, second = told_of(path, go_on, 2)
    assert (first[0], first[1]["state"]) == ("progress", KILLED)
    assert (second[0], second[1]["state"]) == ("progress", FINISHED)


def test_before_its_server_ends_a_page_hears_that_the_run_has_finished(path: Path) -> None:
    """The server ended with the run, between two looks: the page said `running`, and tried again for ever."""

    async def collect() -> list[bytes]:
        return [piece async for piece in events(Watched(path), every_s=0.01, ending=lambda: True)]

    with RunDirectory.open(path) as run:
        run.finish("enough")
    told = b"".join(asyncio.run(asyncio.wait_for(collect(), 180)))
    assert told.count(b"event: progress") == 1
    assert b'"state":"finished"' in told


def test_backends_are_counted_by_what_the_probe_names() -> None:
    assert [kind.name.replace("_", " ") for kind in KINDS] == list(progress.WAITS)


def test_an_arm_has_one_colour_in_the_report_and_while_it_runs(path: Path) -> None:
    study = Findings(Run.open(path)).study
    of_report = charts.colour(tuple(each.name for each in study.treatments)).to_dict()["scale"]
    names = [arm.name for arm in study.arms]
    in_turns = progress.seconds(names, in_turns=True)
    one_by_one = progress.seconds(names, in_turns=False)["vconcat"]
    scales = [each["spec"]["encoding"]["color"]["scale"] for each in (in_turns, *one_by_one)]
    assert scales[:2] == [of_report] * 2
    assert [each["domain"] for each in scales] == [names, names, list(progress.WAITS)], "backends have a legend apart"
    shown = Watched(path).progress().answer.figure
    bars = [layer["encoding"]["color"]["scale"] for layer in shown["spec"]["layer"] if "color" in layer["encoding"]]
    assert bars
    assert all(each == of_report for each in bars)


def test_a_record_that_is_damaged_meanwhile_is_told_and_no_end(path: Path) -> None:
    whole = (path / "journal.jsonl").read_bytes()
    changes = iter((b"rubbish\nmore\n",))
    _, fault = told_of(path, lambda: (path / "journal.jsonl").write_bytes(next(changes)), 2)
    assert fault[0] == "fault"
    assert "line 1 of journal.jsonl" in fault[1]["text"]
    (path / "journal.jsonl").write_bytes(whole)
    assert told_of(path, lambda: None, 1)[0][0] == "progress"


def test_a_journal_that_nobody_of_ours_wrote_ends_no_stream(path: Path) -> None:
    with RunDirectory.open(path) as run:
        run.journal.append(Kind.TRIAL_STARTED, {"number": ["not", "one"]})
    ((name, fault),) = told_of(path, lambda: None, 1)
    assert name == "fault"
    assert "line 55 of journal.jsonl: Expected `int`, got `array`" in fault["text"]


def test_a_run_that_is_moved_away_ends_no_stream(path: Path) -> None:
    _, fault = told_of(path, lambda: shutil.rmtree(path), 2)
    assert fault[0] == "fault"


def test_the_lock_names_this_process(going: RunDirectory) -> None:
    assert (going.path / "lock").read_text() == f"process {os.getpid()} on {socket.gethostname()}\n"


def test_power_cuts_have_a_verdict_before_any_comparison_would(tmp_path: Path) -> None:
    progress = Watched(make_cuts(tmp_path / "run", blocks=2).path).progress()
    assert progress.note == ""
    assert "safe: the baseline (0 of 24 cuts" in progress.answer.sentences[0]
