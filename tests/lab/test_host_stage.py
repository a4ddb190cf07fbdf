"""The host stage of a trial: applied in order before the start, given back on every way out, refused before a run."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.errors import ClusterError, HostError, Missing
from pgassay.interfaces.factor import Factor, Readable, Stage
from pgassay.interfaces.hosting import Hosting, Placement
from pgassay.lab import host_stage as stage
from pgassay.lab.arms import resolve
from pgassay.lab.catalogue import FactorCatalogue, every_factor
from pgassay.lab.environment import Environment
from pgassay.lab.host_stage import host_factors_unavailable
from pgassay.lab.preparation import prepare_snapshot
from pgassay.lab.trial import Trial
from pgassay.lab.trial_state import Assignment
from pgassay.record.values import TrialRecord
from pgassay.study.document import names_in, without
from pgassay.study.levels import Level
from pgassay.study.model import Study
from pgassay.study.parsing import parse
from pgassay.study.responses import Status
from tests.lab.simulation import DOCUMENT, SEED, Simulation, simulate


@dataclass
class Changes:
    """A machine whose changes are a list of words."""

    log: list[str] = field(default_factory=list)

    def write(self, path: Path, value: str, back: str | None = None) -> None:
        self.log.append(f"{path.name}={value}")

    def make_group(self, path: Path) -> None:
        self.log.append(f"group {path.name}")

    def give_back(self) -> None:
        self.log.append("give back")


class Knob(Factor):
    """A host factor of tests; the level `refused` is not available."""

    stage = Stage.HOST

    def __init__(self, pattern: str, rank: int, reason: str | None = None) -> None:
        self.pattern, self.rank, self._reason = pattern, rank, reason

    def parse(self, name: str, typed: str) -> Level:
        return Level(typed, typed)

    def unavailable(self, name: str) -> str | None:
        return self._reason

    def apply(self, name: str, level: Level, hosting: Hosting) -> None:
        if level.canonical == "refused":
            raise HostError("wanted 80, got 3", code="hugepage_error")
        hosting.changes.write(Path(name), level.canonical)
        hosting.groups.append(Path("/groups") / name)
        hosting.cold = True

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        return level.canonical


KNOBS = (Knob("host.late", 1), Knob("host.early", 0), Knob("host.absent", 0, "needs root"))
CATALOGUE = FactorCatalogue((*every_factor().all(), *KNOBS))


def study_of(fixed: Mapping[str, str]) -> Study:
    return parse("hosted", {**DOCUMENT, "fixed": fixed}, CATALOGUE)


@contextmanager
def started(place: Path, fixed: Mapping[str, str]) -> Iterator[tuple[Simulation, Study, Environment, Changes]]:
    simulation = simulate(place)
    changes = Changes()
    yield simulation, study_of(fixed), replace(simulation.environment(), catalogue=CATALOGUE, host=changes), changes


def trial(simulation: Simulation, study: Study, environment: Environment, number: int = 1) -> TrialRecord:
    staging = Path(f"/runs/hosted/trials/{number:06d}")
    simulation.machine.disk.make_root(staging)
    arm = resolve(study, environment).arms[0]
    prepare_snapshot(arm)
    return Trial(arm, Assignment(number, 1, 1, study.arms[0], SEED, staging)).run()[0]


def test_factors_are_applied_by_rank_before_the_start_and_given_back_after(place: Path) -> None:
    with started(place, {"host.late": "a", "host.early": "b"}) as (simulation, study, environment, changes):
        record = trial(simulation, study, environment)
        assert changes.log == ["host.early=b", "host.late=a", "give back"]
        assert simulation.machine.installation.placements[-1] == Placement(
            groups=(Path("/groups/host.early"), Path("/groups/host.late"))
        )
        assert record.levels["host.late"].read_back == "a"
        assert record.status is not Status.OUTCOME


def test_what_cannot_be_had_is_the_trials_outcome_under_its_own_name(place: Path) -> None:
    with started(place, {"host.early": "x", "host.late": "refused"}) as (simulation, study, environment, changes):
        record = trial(simulation, study, environment)
        assert (record.status, record.reasons[0].code) == (Status.OUTCOME, "hugepage_error")
        assert changes.log == ["host.early=x", "give back"]
        assert simulation.machine.left_behind() == []


def test_a_server_that_does_not_start_leaves_nothing_changed(place: Path) -> None:
    with started(place, {"host.early": "x"}) as (simulation, study, environment, changes):
        stage_study = study
        trial(simulation, stage_study, environment)  # makes the snapshot, whose server must start
        simulation.machine.installation.start_failures = ["could not map anonymous shared memory"]
        changes.log.clear()
        record = trial(simulation, stage_study, environment)
        assert record.reasons[0].code == "not_started"
        assert changes.log == ["host.early=x", "give back"]


def test_missing_factors_are_refused_all_at_once_or_left_out(place: Path) -> None:
    with started(place, {"host.absent": "x", "host.early": "y"}) as (_, study, environment, _changes):
        with pytest.raises(UsageError, match=r"host\.absent: needs root") as caught:
            stage.require(resolve(study, environment).arms[0])
        assert caught.value.hint == "run as root, or leave them out with --without-host-factors"
    other = host_factors_unavailable({"host.absent": "no such controller"})
    assert other.hint == "leave them out with --without-host-factors", "root would not help"
    document = {**DOCUMENT, "fixed": {"host.absent": "x", "host.early": "y"}}
    gone = stage.unavailable(names_in(document), CATALOGUE)
    assert gone == {"host.absent": "needs root"}
    assert without(document, gone)["fixed"] == {"host.early": "y"}


def test_linked_treatments_that_become_one_are_one() -> None:
    document = {
        "treatments": [{"a.b": "1", "host.x": "on"}, {"a.b": "1", "host.x": "off"}, {"a.b": "2"}],
        "design": {"baseline": {"host.x": "on"}, "fixed_order": ["host.x", "a.b"]},
    }
    assert without(document, ["host.x"]) == {
        "treatments": [{"a.b": "1"}, {"a.b": "2"}], "design": {"fixed_order": ["a.b"]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fixed", "limit"),
    [
        ({"server.shared_buffers": "1GB", "host.memory": "512MB"}, "host.memory = 512MB"),
        ({"server.shared_buffers": "64GB"}, "the memory of this machine, 16GB"),
    ],
)
def test_shared_buffers_beyond_the_memory_are_refused(place: Path, fixed: Mapping[str, str], limit: str) -> None:
    with started(place, fixed) as (_, study, environment, _changes):
        small = replace(environment, memory_bytes=16 << 30)
        with pytest.raises(UsageError, match=limit):
            stage.require(resolve(study, small).arms[0])


def test_a_plan_names_the_host_factors_that_are_missing(place: Path) -> None:
    missing = Missing(planned=True)
    with started(place, {"host.absent": "x", "host.early": "y"}) as (_, study, environment, _changes):
        stage.require(resolve(study, replace(environment, missing=missing)).arms[0])
    (said,) = missing.messages
    assert "host.absent: needs root" in said


def test_before_15_the_number_comes_from_a_server_without_huge_pages(place: Path) -> None:
    simulation = simulate(place)
    clone = place / "clone"
    simulation.machine.installation.initialize(clone, {})
    environment = replace(simulation.environment(), peak_bytes=lambda pid: 123)
    arm = resolve(study_of({"server.shared_buffers": "1GB", "server.huge_pages": "on"}), environment).arms[0]
    assert stage._peak_bytes(arm, clone) == 123
    assert simulation.machine.left_behind() == []
    with pytest.raises(ClusterError):
        stage._peak_bytes(arm, place)


class Pages(Knob):
    """Obtains 80 pages right before the start; `taken` of them are gone at the second look."""

    def __init__(self, taken: int) -> None:
        super().__init__("host.pages", 0)
        self.wanted = iter((80, taken))

    def apply(self, name: str, level: Level, hosting: Hosting) -> None:
        def obtain() -> int:
            count = next(self.wanted)
            hosting.changes.write(Path(name), str(count))
            return count

        hosting.obtain = obtain


NO_PAGES = "could not map anonymous shared memory: Cannot allocate memory"


@pytest.mark.parametrize(
    ("taken", "said"),
    [
        (75, "other programs took 75 huge pages before the server started; as many were obtained again"),
        (0, "the server did not get its huge pages at once, although they were free"),
    ],
)
def test_huge_pages_that_others_took_before_the_start_are_obtained_again_once(
    place: Path, taken: int, said: str
) -> None:
    with started(place, {"server.huge_pages": "on"}) as (simulation, study, environment, changes):
        plain = trial(simulation, study, environment)  # makes the snapshot
        assert "huge_pages" not in plain.regime
    with_pages = FactorCatalogue((*CATALOGUE.all(), Pages(taken)))
    study = parse("hosted", {**DOCUMENT, "fixed": {"server.huge_pages": "on", "host.pages": "80"}}, with_pages)
    simulation.machine.installation.start_failures = [NO_PAGES]
    record = trial(simulation, study, replace(environment, catalogue=with_pages), 2)
    assert record.status is Status.VALID
    assert record.regime["huge_pages"] == said
    assert changes.log[-3:] == ["host.pages=80", f"host.pages={taken}", "give back"]


def test_huge_pages_that_others_take_twice_are_a_hugepage_error(place: Path) -> None:
    with started(place, {"server.huge_pages": "on"}) as (simulation, study, environment, _):
        trial(simulation, study, environment)  # makes the snapshot
        simulation.machine.installation.start_failures = [NO_PAGES, NO_PAGES]
        record = trial(simulation, study, environment, 2)
        assert (record.status, record.reasons[0].code) == (Status.OUTCOME, "hugepage_error")
        assert "Cannot allocate memory (before, the server did not get" in record.reasons[0].detail
        assert simulation.machine.left_behind() == []
