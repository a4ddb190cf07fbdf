"""A load that fell behind its schedule is warned about, in every form of the report; so is a client's late clock."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.reading import Run
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.report import page, text
from pgassay.report.findings import Findings
from pgassay.report.seconds import drawing
from pgassay.report.warnings import companions, late_clock, overloads
from pgassay.study.document import write
from pgassay.study.responses import Better, Response, Status
from pgassay.testing.planted import Row
from tests.report.blocks import plain

STARTED_NS = 1_700_000_000 * 10**9
STUDY = {
    "study": {"format": 1, "title": "Offered", "question": "Does it keep up?"},
    "factors": {"table.fillfactor": ["100", "75"]},
    "conditions": {"load.protocol": ["prepared", "simple"]},
    "covariates": {"load.clients": ["2", "16", "8"]},
    "load": {"rate": "1000"},
    "responses": {"primary": "tps"},
    "design": {"baseline": {"table.fillfactor": "100"}, "blocks": {"min": 1, "max": 1}},
}


def trial(number: int, tps: float, rate: str = "1000", status: Status = Status.VALID, **place: str) -> TrialRecord:
    return TrialRecord(
        number=number,
        block=1,
        attempt=1,
        treatment=place.get("treatment", "table.fillfactor=75"),
        condition=place.get("condition", ""),
        covariate=place.get("covariate", ""),
        levels={"load.rate": LevelRecord(rate, rate)},
        status=status,
        started_wall_ns=STARTED_NS,
        finished_wall_ns=STARTED_NS + 10**9,
        responses={"tps": tps} if status is Status.VALID else {},
        regime={"window_s": 1.0, "warmup_s": 0.0, "cache": "warm", "age": "none"},
    )


def make_offered(path: Path) -> Run:
    """One block, a single second a trial, 16 clients first; fillfactor 75 does 700 of 1000 offered."""
    tps = Response("tps", "transactions per second", "1/s", Better.HIGHER)
    header = RunHeader("offered", "2026-01-02T03:04:05Z", 1, (tps,), ("pgassay",), "0.1.0")
    with RunDirectory.create(path, header, write(STUDY), {}) as run:
        for clients in ("16", "2", "8"):
            for protocol in ("prepared", "simple"):
                for fill, done in (("100", 990.0), ("75", 700.0)):
                    staging = run.begin_trial(run.next_number)
                    record = trial(
                        staging.number,
                        done,
                        treatment=f"table.fillfactor={fill}",
                        condition=f"load.protocol={protocol}",
                        covariate=f"load.clients={clients}",
                    )
                    run.commit_trial(staging, record, [Row(10**9, STARTED_NS, "pgbench", "tps", "1/s", done)])
        run.finish("the only block is done")
    return Run.open(path)


def test_falling_behind_is_told_with_the_worst_trial() -> None:
    kept_up: Sequence[TrialRecord] = [trial(1, 951.0), trial(2, 1004.0)]
    assert overloads(kept_up) == ()
    assert overloads([trial(1, 10.0, rate="none"), trial(2, 10.0, status=Status.INVALID)]) == ()
    assert overloads([*kept_up, trial(3, 700.0), trial(4, 900.0)]) == (
        "the load fell behind its rate with table.fillfactor=75 in 2 of 4 valid trials: offered 1,000/s, done 700/s:"
        " latencies are mostly schedule lag",
    )


def test_a_clock_that_gives_impossible_latencies_is_told_by_its_worst_trial() -> None:
    def of(share: float | None, status: Status = Status.VALID) -> TrialRecord:
        return replace(trial(1, 1000.0, status=status), responses={"impossible_latency_share": share})

    assert late_clock([of(None), of(0.0), of(0.0009), of(0.5, Status.INVALID)]) == ()
    (told,) = late_clock([of(0.002), of(0.0141), of(0.0)])
    assert "at most 5 µs" in told
    assert "in 2 of 3 trials, at worst 1.41 %" in told


def test_what_companions_of_a_users_server_did_is_reported_by_treatment() -> None:
    def of(active: float, treatment: str, status: Status = Status.VALID) -> TrialRecord:
        counted = {"looks": 10.0, "session_looks": 20.0, "active_looks": active, "wal_sent_bytes": 3.0 * 2**20}
        counters = {f"companions.{name}": value for name, value in {**counted, "lag_bytes": 2.0**20}.items()}
        return replace(trial(1, 1000.0, status=status, treatment=treatment), counters=counters)

    assert companions([trial(1, 1000.0), of(9, "a", Status.INVALID)]) == ""
    assert companions([of(5, "a"), of(15, "a"), of(0, "b")]) == (
        "companions had 2.00 sessions in a window, active: 1.00 with a, 0 with b; standbys were sent 3MB of WAL"
        " in a window and were up to 1MB behind"
    )


def test_text_json_and_page_warn(tmp_path: Path) -> None:
    findings = Findings(make_offered(tmp_path / "run"))
    shown = text.render(findings)
    told = plain(findings)["overloads"]
    assert len(told) == 6
    html = page.write(findings, tmp_path / "report", pictures=False).read_text(encoding="utf-8")
    distrust = html[html.index("What to distrust</h2>") :]
    for sentence in told:
        assert sentence in shown
        assert "mostly schedule lag" in sentence
        assert sentence[1:] in distrust
    assert not any("fillfactor=100" in sentence for sentence in told)


def test_one_block_gives_points_in_order_and_no_made_up_band(tmp_path: Path) -> None:
    findings = Findings(make_offered(tmp_path / "run"))
    points = [point.covariate for point in findings.curves[0].points]
    assert points == ["load.clients=2", "load.clients=8", "load.clients=16"]
    found = plain(findings)
    for point in (*found["beside"]["curves"][0]["points"], *found["verdicts"]):
        assert (point["low"], point["high"]) == (None, None)
    assert {each["unit"] for each in found["verdicts"]} == {"1/s"}
    shown = text.render(findings)
    curve = shown[shown.index("Curve of ") :].splitlines()
    assert "not known  not known" in curve[2]
    assert "all valid trials (12) are too short" in shown
    assert "1 block " in shown
    assert "1 blocks" not in shown


def test_a_single_second_is_a_point_in_a_panel_of_its_condition(tmp_path: Path) -> None:
    found = drawing(Findings(make_offered(tmp_path / "run")))
    assert found is not None
    made = found.chart.to_dict()
    (lines,) = (layer["mark"] for layer in made["spec"]["layer"] if layer["mark"]["type"] == "line")
    assert lines["point"] is True
    panels = made["facet"]["row"]["sort"]
    assert len(panels) == 12
    assert "table.fillfactor=75, load.protocol=simple, load.clients=8" in panels
    assert {row["panel"] for row in made["data"]["values"]} == set(panels)
