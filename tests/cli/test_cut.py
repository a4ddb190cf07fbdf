"""`pgassay drive cut`: what is laid over a study so that its load can be cut, and what its author's words leave."""

import argparse
from pathlib import Path

import pytest

from pgassay.cli import drive

STUDY = """
[study]
format = 1
title = "T"
question = "Q?"
[factors]
"server.fsync" = ["on", "off"]
[load]
{load}
[responses]
primary = "tps"
"""


def laid_over(
    place: Path, monkeypatch: pytest.MonkeyPatch, load: str, *words: str
) -> tuple[dict[str, str], argparse.Namespace]:
    """The settings that `run` gets, and all of its arguments."""
    path = place / "mine.toml"
    path.write_text(STUDY.format(load=load), encoding="utf-8")
    seen: list[argparse.Namespace] = []

    def kept(name: str, document: object, arguments: argparse.Namespace) -> int:
        seen.append(arguments)
        return 0

    monkeypatch.setattr(drive, "run_document", kept)
    parser = argparse.ArgumentParser()
    drive.add_cut_arguments(parser)
    assert drive.cut(parser.parse_args([str(path), *words])) == 0
    return dict(each.split("=", 1) for each in seen[0].set), seen[0]


def test_a_load_gets_a_ledger_a_rate_and_time_for_its_cuts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, arguments = laid_over(tmp_path, monkeypatch, "scale = 1", "--cuts", "100")
    assert found["load.cuts"] == "20"
    assert found["load.duration"] == "20s"
    assert (found["load.script"], found["load.rate"]) == ("ledger", drive.RATE_TPS)
    assert (found["drive.data"], found["drive.cache"]) == ("ssd", "volatile")
    assert arguments.blocks == "5..5"
    assert arguments.primary == "unsafe_cuts"


def test_another_question_stays_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, arguments = laid_over(tmp_path, monkeypatch, "scale = 1", "--primary", "crash_recovery_ms")
    assert arguments.primary == "crash_recovery_ms"


@pytest.mark.parametrize("given", ["server.max_wal_size=1GB", "server.checkpoint_timeout=30s"])
def test_checkpoints_come_in_every_window_unless_somebody_said_how_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    found, _ = laid_over(tmp_path, monkeypatch, "scale = 1")
    assert found["server.max_wal_size"] == drive.MAX_WAL_SIZE
    found, _ = laid_over(tmp_path, monkeypatch, "scale = 1", "--set", given)
    name, value = given.split("=")
    assert found[name] == value
    assert name == "server.max_wal_size" or "server.max_wal_size" not in found


def test_what_was_given_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--set", "drive.cache=protected", "--set", "load.duration=9s")
    found, _ = laid_over(tmp_path, monkeypatch, 'rate = 50\nscript = "tpcb-like"', *words)
    assert (found["drive.cache"], found["load.duration"]) == ("protected", "9s")
    assert not {"load.rate", "load.script"} & set(found)


def test_tpc_c_has_rules_and_no_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = laid_over(tmp_path, monkeypatch, 'driver = "tpcc"')
    assert "load.script" not in found
    assert found["load.rate"] == drive.RATE_TPS


def test_no_cuts_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    drive.add_cut_arguments(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(["fillfactor", "--cuts", "0"])
    assert "--cuts" in capsys.readouterr().err
