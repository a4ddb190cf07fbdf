"""Thresholds in a report: the same in headline, verdict section and JSON; what counts, and what is not known."""

import json
from argparse import Namespace
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.cli.run import finish
from pgassay.errors import UsageError
from pgassay.report import decide, headline, verdict
from pgassay.report.findings import Findings
from pgassay.study.thresholds import parse, split
from pgassay.testing.planted import make_run
from tests.report.blocks import plain, tables
from tests.report.scaled import make_scaled

P99, SPACE = "p99_ms < 3.74 ms", "space < +30 %"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("made") / "run", discarded=False).path


def weighed(path: Path, *texts: str) -> Findings:
    return Findings(make_run(path), weigh=[parse(*split(each)) for each in texts])


def test_each_threshold_is_judged_with_each_treatment(tmp_path: Path) -> None:
    found = weighed(tmp_path / "run", P99, SPACE)
    judged = plain(found)["decide"]
    assert [(each["text"], each["treatment"][-3:], each["outcome"], each["counts"]) for each in judged] == [
        (P99, "100", "fail", False), (P99, "=75", "pass", True), (P99, "=50", "fail", True),
        (SPACE, "=75", "pass", True), (SPACE, "=50", "fail", True),
    ]  # fmt: skip
    (table,) = [each for each in tables(verdict.SECTION, found) if each.title == "Thresholds"]
    assert [str(row[-1]) for row in table.rows] == ["fail", "pass", "fail", "pass", "fail"]
    assert headline.headline_of(found).sentences[-1] == (
        f"by your 2 thresholds, table.fillfactor=75 passes; table.fillfactor=50 fails ({P99}, {SPACE})"
    )
    assert not decide.holds(found)


def test_a_change_has_the_interval_of_its_effect(tmp_path: Path) -> None:
    found = plain(weighed(tmp_path / "run", SPACE, "tps > -50 %", "wal_bytes_per_transaction < +0 %"))
    shown = {(each["response"], each["treatment"]): each for each in (*found["verdicts"], *found["secondary"])}
    assert len(found["decide"]) == 6
    for each in found["decide"]:
        same = shown[each["response"], each["treatment"]]
        assert (each["estimate"], each["low"], each["high"]) == (same["estimate"], same["low"], same["high"])


def test_the_baseline_does_not_count_where_something_is_compared(tmp_path: Path) -> None:
    assert decide.holds(weighed(tmp_path / "run", "tps > 1000 1/s", "tps > -2 %")) is False, "50 is not surely above"
    assert decide.holds(weighed(tmp_path / "other", "tps > 900", "tps > -2 %"))


def test_nothing_is_known_before_five_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgassay.testing.planted.BLOCKS", 4)
    found = weighed(tmp_path / "run", P99, SPACE)
    assert {each["outcome"] for each in plain(found)["decide"]} == {"not known"}
    assert {each["low"] for each in plain(found)["decide"]} == {None}
    assert not decide.holds(found)
    assert "is not known" in headline.headline_of(found).sentences[-1]


def test_a_curve_is_judged_at_each_point(tmp_path: Path) -> None:
    found = Findings(make_scaled(tmp_path / "run"), weigh=[parse("tps", "> 1")])
    assert {each["outcome"] for each in plain(found)["decide"]} == {"pass"}
    assert "by your threshold" in headline.headline_of(found).sentences[-1]
    with pytest.raises(UsageError, match="no baseline"):
        plain(Findings(make_scaled(tmp_path / "again"), weigh=[parse("tps", "> +1 %")]))


def test_speeds_of_untimed_emulated_drives_are_not_known(tmp_path: Path) -> None:
    made = make_run(tmp_path / "run", fixed=["drive.data=csd", "drive.timing=off"])
    found = Findings(made, weigh=[parse("p99", "< 100 ms"), parse("space", "< +1000 %")])
    by_kind = {each["kind"]: (each["outcome"], each["why"]) for each in plain(found)["decide"]}
    assert by_kind["value"][0] == "not known"
    assert "timing is off" in by_kind["value"][1]
    assert by_kind["change"] == ("pass", "")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--weigh", "p99 < 5 ms"], 0),
        (["--weigh", "p99 < 5 ms", "--check"], 0),
        (["--weigh", P99, "--check"], 1),
        (["--weigh", P99], 0),
        (["--weigh", SPACE, "--check", "--json"], 1),
        (["--check"], 2),
        (["--weigh", "nonsense"], 2),
        (["--weigh", "p99 < 5 ms", "--weigh", "p99 > 6 ms"], 2),
    ],
)
def test_check_tells_by_its_exit_status(run: Path, arguments: list[str], status: int) -> None:
    assert main(["show", str(run), *arguments]) == status


def test_report_checks_too(run: Path, tmp_path: Path) -> None:
    assert main(["report", str(run), "--no-figures", "--out", str(tmp_path), "--weigh", SPACE, "--check"]) == 1
    assert "Thresholds" in (tmp_path / "report.html").read_text()


def test_a_study_without_thresholds_cannot_be_checked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "fillfactor", "--quick", "--check", "--dry-run"]) == 2
    assert "no threshold to check" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("threshold", "status"), [('tps = "> -2 %"', 0), ('database_bytes = "< +30 %"', 1)])
def test_a_run_that_ends_tells_whether_its_study_s_thresholds_hold(
    tmp_path: Path, threshold: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_run(tmp_path / "run", discarded=False).path
    study = path / "study.toml"
    study.write_text(f"{study.read_text()}\n[decide]\n{threshold}\n")
    arguments = Namespace(json=True, quiet=False, verbose=False, check=True)
    assert finish(0, path, arguments) == status
    assert finish(130, path, arguments) == 130, "an interrupted run says so"
    (first, *_) = json.loads(capsys.readouterr().out)["decide"]
    assert first["text"] == threshold.replace(" = ", " ").replace('"', "")
