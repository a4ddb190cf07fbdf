"""A whole calibration on a machine of fakes: its plan, its noise found again, nothing left behind when cut short."""

import random
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pgassay.analysis.calibration import Noise
from pgassay.errors import UsageError
from pgassay.interfaces.load import LoadResult
from pgassay.interfaces.server import Server
from pgassay.lab.arms import resolve
from pgassay.lab.calibration import Calibrator, document_of, with_labels
from pgassay.lab.runner import Watcher
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.record.check import check
from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.reading import Run
from pgassay.report.calibration import CalibrationFindings, document, render
from pgassay.study.findings import Severity
from pgassay.study.parsing import parse
from pgassay.study.responses import Status
from tests.fakes.load import RESPONSES, FakeLoad
from tests.lab.machine import ROOT, Machine, Planned
from tests.lab.simulation import Simulation

pytestmark = pytest.mark.thorough

RUN = ROOT / "calibration"
LOAD = {"driver": "pgbench", "script": "simple-update", "scale": "1", "duration": "8s", "warmup": "1s"}
RESTART_CV, RUN_CV = 0.03, 0.01
SEED = 7


class Wandering(FakeLoad):
    """Each restart is a little faster or slower, each run too; the first run of restart `aborts` fails."""

    def __init__(self, machine: Machine, aborts: int) -> None:
        super().__init__(machine.clock, keep=lambda path, text: machine.disk.tool_writes(path, text.encode()))
        self._machine = machine
        self._chance = random.Random("wandering")
        self._aborts = aborts
        self._restarts = 0
        self._level = 1.0

    def run(self, server: Server, options: PgbenchOptions, output: Path, seed: int) -> LoadResult:
        started = len(self._machine.installation.servers) - 3  # three were started to prepare the clusters
        if started != self._restarts:
            self._restarts = started
            self._level = 1.0 + self._chance.gauss(0.0, RESTART_CV)
        abort = started == self._aborts and output.name != "warmup"
        self.problems = {self._runs + 1: {"aborted": "why"}} if abort else {}
        return super().run(server, options, output, seed)

    def _tps(self, server: Server, options: PgbenchOptions, seed: int) -> float:
        return 1000.0 * self._level * (1.0 + self._chance.gauss(0.0, RUN_CV))


@dataclass
class Calibrated:
    """A calibration of three clusters and two runs on a fresh machine below `place`."""

    place: Path
    blocks: int = 4
    budget: str = "24h"
    aborts: int = 0

    def __post_init__(self) -> None:
        self.machine = Machine(self.place)
        load = Wandering(self.machine, self.aborts)
        environment = with_labels(
            replace(
                Simulation(self.machine).environment(), load=lambda options, installation: load.with_options(options)
            )
        )
        document = document_of(LOAD, 3, 2, (2, self.blocks), self.budget, SEED)
        self.study, self.environment = parse("calibration", document, environment.catalogue), environment
        header = RunHeader("calibration", "2026-01-02T03:04:05Z", SEED, RESPONSES, ("pgassay",), "0.1.0")
        disk, clock = self.machine.disk, self.machine.clock
        self.directory = RunDirectory.create(RUN, header, "", {}, disk, clock.wall_ns)
        self.calibrator = Calibrator(resolve(self.study, environment), self.directory, Watcher())

    def conduct(self) -> Run:
        """To the end."""
        with self.directory:
            self.calibrator.conduct()
        return Run.open(RUN, self.machine.disk)

    def go_on(self) -> Run:
        """As after a kill: from the record alone."""
        disk, clock = self.machine.disk, self.machine.clock
        with RunDirectory.open(RUN, disk, clock.wall_ns) as directory:
            directory.resumed()
            trials = Run.open(RUN, disk).trials
            Calibrator(resolve(self.study, self.environment), directory, Watcher(), trials).conduct()
        return Run.open(RUN, disk)


def test_every_block_restarts_each_cluster_once_and_runs_it_twice(tmp_path: Path) -> None:
    calibrated = Calibrated(tmp_path)
    run = calibrated.conduct()
    assert [each for each in check(RUN, calibrated.machine.disk) if each.severity is Severity.ERROR] == []
    assert len(run.trials) == 4 * 3 * 2
    for block in range(1, 5):
        seen = [each.levels for each in run.trials if each.block == block]
        clusters = [levels["calibration.cluster"].typed for levels in seen]
        assert sorted(clusters) == ["1", "1", "2", "2", "3", "3"]
        assert clusters[::2] == clusters[1::2], "the runs of a restart follow each other"
        assert [levels["calibration.run"].typed for levels in seen] == ["1", "2"] * 3
    assert len(calibrated.machine.installation.servers) == 3 + 4 * 3, "prepared once, then started once a restart"
    assert len({each.data["key"] for each in run.journal if each.kind == "prepared"}) == 3
    assert calibrated.machine.left_behind() == []


def test_planted_noise_is_found_from_the_record(tmp_path: Path) -> None:
    found = CalibrationFindings(Calibrated(tmp_path, blocks=30).conduct())
    noise = found.primary
    assert isinstance(noise, Noise)
    assert noise.noise_low < (RESTART_CV**2 + RUN_CV**2) ** 0.5 < noise.noise_high
    assert noise.components.run**0.5 == pytest.approx(RUN_CV, rel=0.3)
    assert found.lengths.run_s == pytest.approx(9.0, abs=0.5)
    widths = [each["width"] for each in document(found)["resolution"] if each["width"] is not None]
    assert widths
    assert widths == sorted(widths, reverse=True)
    shown = render(found)
    assert "3 clusters × 30 restarts × 2 runs" in shown
    assert "nan" not in shown
    assert document(found)["noise"]["tps"]["response"] == "tps"


def test_a_run_that_fails_ends_its_restart_and_leaves_its_block_out(tmp_path: Path) -> None:
    found = CalibrationFindings(Calibrated(tmp_path, aborts=5).conduct())
    assert [each.status for each in found.run.trials if each.status is not Status.VALID] == [Status.OUTCOME]
    assert len(found.run.trials) == 4 * 3 * 2 - 1
    assert isinstance(found.primary, Noise)
    assert [text.partition(":")[0] for text in found.primary.left_out] == ["block 2"]
    assert "left out     trial 9: why" in render(found)


def test_the_budget_ends_it_but_never_before_two_blocks(tmp_path: Path) -> None:
    run = Calibrated(tmp_path, budget="90s").conduct()
    assert max(each.block for each in run.trials) == 2
    assert "does not fit in the budget" in str(run.journal[-1].data["reason"])


def test_nothing_is_left_behind_wherever_it_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    whole = Calibrated(tmp_path / "whole", blocks=2)
    before = len(whole.machine.moments)
    whole.conduct()
    for moment in range(before + 1, len(whole.machine.moments), 13):
        (tmp_path / str(moment)).mkdir()
        calibrated = Calibrated(tmp_path / str(moment), blocks=2)
        calibrated.machine.planned = {moment: Planned.INTERRUPT}
        with pytest.raises(KeyboardInterrupt):
            calibrated.conduct()
        assert calibrated.machine.left_behind() == [], calibrated.machine.moments[moment - 1]


def cut_short(place: Path, moment: int) -> Calibrated:
    """A calibration of four blocks, interrupted at that moment of its machine's life."""
    place.mkdir()
    calibrated = Calibrated(place)
    calibrated.machine.planned = {moment: Planned.INTERRUPT}
    with pytest.raises(KeyboardInterrupt):
        calibrated.conduct()
    calibrated.machine.planned = {}
    return calibrated


def test_cut_short_it_goes_on_with_its_clusters_and_a_new_block(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    whole = Calibrated(tmp_path / "whole")
    whole.conduct()
    moments = len(whole.machine.moments)
    for moment in (moments // 3, moments // 2, moments * 4 // 5):
        calibrated = cut_short(tmp_path / str(moment), moment)
        committed = len(Run.open(RUN, calibrated.machine.disk).trials)
        run = calibrated.go_on()
        assert [each for each in check(RUN, calibrated.machine.disk) if each.severity is Severity.ERROR] == []
        assert run.journal[-1].kind == "finished"
        assert len(run.trials) > committed
        last = max(trial.block for trial in run.trials)
        counts = [sum(trial.block == block for trial in run.trials) for block in range(1, last + 1)]
        assert counts.count(6) == 4, counts
        assert last == 4 + (committed % 6 != 0)
        assert len({each.data["key"] for each in run.journal if each.kind == "prepared"}) == 3
        assert sum(each.kind == "prepared" for each in run.journal) == 3
        noise = CalibrationFindings(run).primary
        assert isinstance(noise, Noise)


def test_it_does_not_go_on_with_other_clusters(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    whole = Calibrated(tmp_path / "whole")
    whole.conduct()
    calibrated = cut_short(tmp_path / "cut", len(whole.machine.moments) // 2)
    assert Run.open(RUN, calibrated.machine.disk).trials
    other = Machine(fresh(tmp_path)).drive
    calibrated.environment = replace(calibrated.environment, drive=lambda wanted, needs: other)
    with pytest.raises(UsageError, match="would not be the same"):
        calibrated.go_on()


def fresh(place: Path) -> Path:
    """Another machine's place."""
    (place / "other").mkdir(exist_ok=True)
    return place / "other"
