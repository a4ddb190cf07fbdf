"""The library: its public names, what they give, that a run can be read while it goes on, and its page's examples."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import pgassay
from pgassay.record.directory import RunDirectory
from pgassay.study.responses import Status
from pgassay.testing import real
from pgassay.testing.planted import make_run
from tests.docs.pages import Example, blocks
from tests.record.runs import HEADER, HOST, STUDY, series, trial
from tests.system.journeys import place

EXAMPLES = [example for example in blocks("python") if example.page == "commands.md"]
RUNS_A_STUDY = [example for example in EXAMPLES if "pgassay.run(" in example.text]
EFFECT = pgassay.compare({"a": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 5.0]}, "a")[0]
SHOWN_RUN = "runs/fillfactor-20260102T030405Z"
PUBLIC = (
    "Effect", "Findings", "PgassayError", "Progress", "Run", "Simulation", "Verdict", "WrittenStudy", "build_study",
    "compare", "load_study", "resume", "run", "simulate", "verdict",
)  # fmt: skip
"""A change here is one that users see: it belongs in CHANGELOG.md and docs/commands.md."""


def test_the_public_names() -> None:
    assert tuple(pgassay.__all__) == PUBLIC
    assert set(PUBLIC) < set(dir(pgassay))
    page = (Path(__file__).parents[1] / "docs" / "commands.md").read_text(encoding="utf-8")
    for name in PUBLIC:
        assert getattr(pgassay, name).__doc__, name
        assert f"`{name}`" in page or f"`{name}." in page, name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(pgassay, "nothing")  # noqa: B009


def test_importing_it_imports_nothing_heavy() -> None:
    program = "import sys, pgassay; print([name for name in ('numpy', 'polars', 'psycopg') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_run_is_read_while_it_goes_on(tmp_path: Path) -> None:
    writer = RunDirectory.create(tmp_path / "run", HEADER, STUDY, HOST)
    run = pgassay.Run.open(tmp_path / "run")
    assert run.trials().height == 0
    assert run.series().collect().height == 0
    for number in (1, 2, 3):
        staging = writer.begin_trial(number)
        assert run.trials().height == number - 1, "a trial counts when it is committed"
        writer.commit_trial(staging, trial(number), series(number))
        assert run.trials()["number"].to_list() == list(range(1, number + 1))
        assert run.series().collect()["trial"].unique().sort().to_list() == list(range(1, number + 1))
    with (tmp_path / "run" / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"torn')  # a line that is being written
    assert run.trials().height == 3
    writer.close()


def test_trials_as_a_frame(tmp_path: Path) -> None:
    with RunDirectory.create(tmp_path / "run", HEADER, STUDY, HOST) as writer:
        for number, status, tps in ((1, Status.VALID, 1000.0), (2, Status.OUTCOME, None)):
            writer.commit_trial(writer.begin_trial(number), trial(number, status, tps), series(number))
    frame = pgassay.Run.open(tmp_path / "run").trials()
    assert frame.schema["tps"] == pl.Float64
    assert frame.schema["started"] == pl.Datetime("us", "UTC")
    assert frame["tps"].to_list() == [1000.0, None]
    assert frame["status"].to_list() == ["valid", "outcome"]
    assert frame["build.block_size"].to_list() == ["8kB", "4kB"]
    assert frame["build.block_size read back"].to_list() == ["8192", "4096"]


def test_verdicts_of_a_run(tmp_path: Path) -> None:
    make_run(tmp_path / "run")
    run = pgassay.Run.open(tmp_path / "run")
    assert run.finished
    kinds = dict(run.verdicts().select("treatment", "verdict").iter_rows())
    assert kinds == {"table.fillfactor=75": "better", "table.fillfactor=50": "equivalent"}
    assert run.report().is_file()
    assert repr(run) == f"Run('{tmp_path / 'run'}')"


def test_what_is_no_run_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(pgassay.PgassayError, match="is not a run directory"):
        pgassay.Run.open(tmp_path)


def test_changes_of_a_study_are_those_of_the_command_line() -> None:
    study = pgassay.load_study(
        "fillfactor", size="quick", fixed={"load.scale": 3}, levels={"table.fillfactor": [100, 60]}, seed=7
    )
    assert [arm.name for arm in study.study.arms] == ["table.fillfactor=100", "table.fillfactor=60"]
    assert (study.study.fixed["load.scale"].canonical, study.seed) == ("3", 7)
    with pytest.raises(pgassay.PgassayError, match='is called "fillfaktor"'):
        pgassay.load_study("fillfaktor")


def test_numbers_of_ones_own() -> None:
    values: dict[str, list[float | None]] = {
        "a": [100.0, 101.0, 99.0, 100.0, 102.0],
        "b": [130.0, None, 129.0, float("nan"), 133.0],
    }
    (effect,) = pgassay.compare(values, baseline="a")
    assert (effect.treatment, effect.blocks) == ("b", 3)
    assert pgassay.verdict(effect, better="higher").kind == "unresolved", "below five blocks nothing is decided"
    with pytest.raises(pgassay.PgassayError, match='no values of baseline "c"'):
        pgassay.compare(values, baseline="c")


@pytest.fixture
def shown_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "runs").mkdir()
    make_run(tmp_path / SHOWN_RUN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("example", [each for each in EXAMPLES if each not in RUNS_A_STUDY], ids=str)
def test_an_example(example: Example, shown_run: Path) -> None:
    assert "assert" in example.text
    exec(compile(example.text, example.page, "exec"), {})


@pytest.mark.system
@pytest.mark.slow
def test_the_example_that_runs_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a real PostgreSQL; while it runs, the callback reads the trials that are committed by then."""
    (example,) = RUNS_A_STUDY
    monkeypatch.chdir(tmp_path)
    seen: list[int] = []

    def look(step: pgassay.Progress) -> None:
        if step.trial is not None:
            seen.append(pgassay.Run.open("runs/first").trials().height)

    text = example.text
    for shown, tried in (
        ("lambda step: print(step.text)", "look, allow_busy=True"),
        ('blocks="5..5",', 'blocks="5..5", budget="5h",'),  # however slow the machine
    ):
        assert shown in text
        text = text.replace(shown, tried)
    real.installation()  # skips where there is none
    with place() as reachable:
        monkeypatch.setenv("PGASSAY_DATA_DIR", str(reachable.data))
        exec(compile(text, example.page, "exec"), {"look": look})
    assert seen == [2 * block for block in range(1, len(seen) // 2 + 1) for _ in range(2)], (
        "servers took turns, so the trials of a block are committed together"
    )
    assert len(seen) >= 10, "and a block that a busy machine disturbed runs again"


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.timeout(300)
def test_a_run_that_was_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real.installation()  # skips where there is none
    study = pgassay.load_study(
        "fillfactor", size="quick", levels={"table.fillfactor": [100, 80]}, blocks="5..5", budget="5h",
        fixed={"load.scale": 1, "load.duration": "1s", "load.warmup": "0s"},
    )  # fmt: skip

    def stop(step: pgassay.Progress) -> None:
        if step.trial is not None and step.trial.number == 2:
            raise KeyboardInterrupt

    with place() as reachable:
        monkeypatch.setenv("PGASSAY_DATA_DIR", str(reachable.data))
        with pytest.raises(KeyboardInterrupt):
            pgassay.run(study, tmp_path / "run", on_progress=stop, allow_busy=True)
        cut_short = pgassay.Run.open(tmp_path / "run")
        before = cut_short.trials()
        assert (cut_short.finished, before.height) == (False, 2)
        whole = pgassay.resume(tmp_path / "run", allow_busy=True)
        assert whole.finished
        numbers = whole.trials()["number"].to_list()
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) >= 10, "five blocks of two, and one that a busy machine disturbed runs again"
        assert whole.trials().head(2).equals(before), "what was measured before is kept"
        with pytest.raises(pgassay.PgassayError, match="finished"):
            pgassay.resume(tmp_path / "run", allow_busy=True)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: pgassay.run("fillfactor"), "run takes a study"),  # type: ignore[arg-type]
        (lambda: pgassay.build_study("fillfactor"), "build_study takes the tables"),  # type: ignore[arg-type]
        (lambda: pgassay.compare({"a": [1.0], "b": ["2"]}, "a"), 'a value of "b" is not a number'),  # type: ignore[list-item]
        (lambda: pgassay.compare({"a": [1.0], "b": [2.0]}, "a", level=95), "level must be above 0 and below 1"),
        (lambda: pgassay.verdict(EFFECT, better="sideways"), 'better is "higher", "lower" or None'),
        (lambda: pgassay.verdict(EFFECT, resolution=-0.1), "resolution must be a share"),
    ],
)
def test_what_it_cannot_use_is_an_error_of_its_own(call: Callable[[], object], said: str) -> None:
    with pytest.raises(pgassay.PgassayError, match=said):
        call()
