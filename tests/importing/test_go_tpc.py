"""go-tpc's output as a foreign run: both styles give one run, and a run without a summary gives none.

The JSON is verbatim output of a real run; the plain lines are the same numbers as go-tpc's default style prints them.
"""

import json
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.importing.go_tpc import is_go_tpc, read_go_tpc
from pgassay.importing.values import ForeignRun, Reading
from tests.importing.made import SAMPLES

SAID = (SAMPLES / "gotpc_run_json.txt").read_text(encoding="utf-8")


def in_plain_style(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if not line.startswith("[{"):
            lines.append(line)
            continue
        for row in json.loads(line):
            if "tpmC" in row:
                lines.append(f"tpmC: {row['tpmC']}, tpmTotal: {row['tpmTotal']}, efficiency: {row['efficiency']}")
                continue
            names = ("Takes(s)", "Count", "TPM", "Sum(ms)", "Avg(ms)", "50th(ms)", "90th(ms)", "99th(ms)", "Max(ms)")
            values = ", ".join(f"{name}: {row[name]}" for name in names)
            lines.append(f"{row['Prefix']}{row['Operation']} - {values}")
    return "\n".join(lines) + "\n"


def run_of(text: str) -> ForeignRun:
    assert is_go_tpc(text)
    reading = read_go_tpc("x", text)
    assert isinstance(reading, Reading)
    (run,) = reading.runs
    return run


def test_the_totals_threads_and_intervals() -> None:
    run = run_of(SAID)
    assert run.fields == {"threads": "4"}
    assert run.seconds == pytest.approx(10.0, abs=0.05)
    assert run.responses["tps"] == pytest.approx((26653.5 + 25603.2 + 2465.8 + 2346.3 + 2144.0) / 60)
    assert run.responses["new_orders_per_minute"] == 26653.0
    assert run.responses["failed_share"] == 0.0, "three were cut short by the end, one for each thread at most"
    assert [each.monotonic_ns // 10**9 for each in run.series] == [2, 4, 6, 8]
    assert not run.problems


def test_both_styles_say_the_same() -> None:
    assert run_of(in_plain_style(SAID)) == run_of(SAID)


def test_failures_of_a_run_whose_threads_are_unknown() -> None:
    text = "".join(line for line in SAID.splitlines(keepends=True) if "run worker" not in line)
    reading = read_go_tpc("x", text)
    assert isinstance(reading, Reading)
    assert reading.runs[0].fields == {"threads": ""}
    assert reading.runs[0].responses["failed_share"] == pytest.approx(3 / (9848 + 3))
    assert "does not say its threads" in reading.remarks[0]


def test_a_run_without_a_summary_is_no_run() -> None:
    torn = SAID.partition("Finished")[0]
    assert is_go_tpc(torn)
    assert "without its summary" in str(read_go_tpc("x", torn))
    assert read_go_tpc("x", torn + "Error: dial tcp: no route\n") == (
        "go-tpc gave up without a result: Error: dial tcp: no route"
    )
    assert not is_go_tpc("begin to check warehouse 2 at condition 3.3.2.2\n[2026-11-21] [Summary]\n")


def test_two_folders_of_go_tpc_are_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, text in (("a", SAID), ("b", in_plain_style(SAID))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "out.txt").write_text(text, encoding="utf-8")
    assert main(["import", str(tmp_path), "--out", str(tmp_path / "run"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["imported_as"], told["treatments"]) == ("go-tpc", ["folder=a", "folder=b"])
    assert told["outcomes"] == []
