"""Trials that count what a server executes: two windows, their difference, and what cannot be counted."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.errors import UsageError
from pgassay.interfaces.load import SEEDS_OF_BLOCK, LoadOptions, LoadResult
from pgassay.interfaces.probe import BACKEND, PARALLEL, Executed, Reader
from pgassay.interfaces.server import Server
from pgassay.lab import counted
from pgassay.lab.arms import resolve
from pgassay.lab.counted import Window, difference, without_times
from pgassay.lab.environment import Environment, ServerAccess
from pgassay.lab.runner import COUNTED_BLOCKS, trial_seed
from pgassay.lab.settings import settings_of
from pgassay.lab.trial_state import Assignment
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.probe.server_views import WAITS
from pgassay.record.counts import FILE, FOLDER, CountsRecord, decode, encode
from pgassay.record.errors import RecordError
from pgassay.study.document import COUNT_LEVELS
from pgassay.study.responses import Better, Response, Status
from pgassay.testing.fakes import FakeClock, FakeServer
from tests.fakes.disk import Crashed
from tests.fakes.drive import FakeDrive
from tests.fakes.instrument import FakeInstrument
from tests.fakes.probe import FakeReader
from tests.lab.machine import Planned
from tests.lab.simulation import RUN, Simulation, arm_with, ending, simulate, study_of

NAME = counted.INSTRUCTIONS.name
CONNECTING = 5_000_000.0
READING_CATALOGUE = 150_000.0
"""By the first session of a server, whose pages nobody has read before."""
PER_TRANSACTION: Mapping[str, float] = {"100": 200_000.0, "90": 201_000.0, "50": 230_000.0}
COUNTED = {"load__count": "on", "load__transactions": "100"}


def executed(
    instructions: float, kind: str = BACKEND, misses: float = 0.0, **functions: tuple[float, float]
) -> Executed:
    return Executed(kind, instructions, functions, {"pwrite64": instructions / 10}, {"branch": misses})


def test_the_difference_of_two_windows_is_what_its_transactions_executed() -> None:
    shorter = Window(10, (executed(30.0, misses=2.0, planner=(20.0, 1.0), hash_search=(10.0, 10.0)),))
    most = executed(1030.0, misses=45.0, planner=(20.0, 1.0), hash_search=(1010.0, 110.0))
    longer = Window(110, (most, executed(200.0, PARALLEL, misses=7.0)))
    found = difference(FakeInstrument(), [shorter, longer])
    assert found == CountsRecord(
        "a fake",
        100,
        {BACKEND: 10.0, PARALLEL: 2.0},
        {"planner": (0.0, 0.0), "hash_search": (10.0, 1.0)},
        {"pwrite64": 1.2},
        {"branch": 0.5},
    )
    assert decode(encode(found)) == found


@pytest.mark.parametrize(
    "windows",
    [
        [Window(10, (executed(1.0),)), Window(10, (executed(2.0),))],
        [Window(10, (executed(1.0),)), Window(100, ())],
        [Window(10, (executed(1.0, PARALLEL),)), Window(100, (executed(2.0),))],
        [Window(1, (executed(9.0),)), Window(10, (executed(5.0), executed(90.0, PARALLEL)))],
    ],
)
def test_without_a_longer_window_and_a_backend_in_both_there_is_no_count(windows: Sequence[Window]) -> None:
    assert difference(FakeInstrument(), windows) is None


def test_no_time_is_told_of_a_dilated_trial() -> None:
    declared = (
        Response("tps", "", "1/s", Better.HIGHER),
        Response("server_cpu_us_per_transaction", "", "us", Better.LOWER, cost=True),
        Response("disk_read_bytes_per_s", "", "bytes", Better.LOWER),
        Response("wal_bytes_per_transaction", "", "bytes", Better.LOWER, cost=True),
    )
    found = without_times({each.name: 7.0 for each in declared}, declared)
    assert [name for name, value in found.items() if value is not None] == ["wal_bytes_per_transaction"]
    assert found.keys() == {each.name for each in declared}


class SlowToEnd(FakeServer):
    """Its load's backend ends some looks after the load, and writes its counts then."""

    looks = 0
    instrument = FakeInstrument()

    def processes(self) -> frozenset[int]:
        self.looks += 1
        if self.looks == 5:
            self.instrument.end(1000.0)
        return frozenset({7, 8} if 1 < self.looks < 5 else {7})


def test_a_window_ends_with_the_processes_of_its_load(tmp_path: Path) -> None:
    (tmp_path / "pgassay_fake.json").write_text("{}")
    server = SlowToEnd.__new__(SlowToEnd)
    server.instrument.end(9.0)  # of an earlier window
    result = LoadResult(0, (0, 0), (1, 1), 10, {})
    played, found = counted.window(server.instrument, server, FakeClock(), lambda: result)
    assert played is result
    assert [each.instructions for each in found.executed] == [1000.0]
    assert found.transactions == 10


class NeverEnds(FakeServer):
    """Its load's backend has executed something, and does not end."""

    looks = 0

    def processes(self) -> frozenset[int]:
        self.looks += 1
        return frozenset({7, 8} if self.looks > 1 else {7})


def test_what_has_not_ended_is_not_taken_for_a_whole_count() -> None:
    class CountsWhatLives(FakeInstrument):
        @contextmanager
        def window(self, postmaster_pid: int, there: Collection[int]) -> Iterator[Callable[[], tuple[Executed, ...]]]:
            yield lambda: (Executed(BACKEND, 500.0, {}, {}),)

    server = NeverEnds.__new__(NeverEnds)
    _, found = counted.window(CountsWhatLives(), server, FakeClock(), lambda: LoadResult(0, (0, 0), (1, 1), 10, {}))
    assert found.executed == ()


class StillEnding(FakeServer):
    """A session of ours from before the load writes its counts meanwhile."""

    looks = 0
    instrument = FakeInstrument()

    def processes(self) -> frozenset[int]:
        self.looks += 1
        if self.looks == 2:
            self.instrument.end(5e6)
            self.instrument.end(1000.0)
        return frozenset({1, 7} if self.looks == 1 else {7})


def test_a_process_that_ends_in_a_window_and_did_not_begin_in_it_is_no_part(tmp_path: Path) -> None:
    server = StillEnding.__new__(StillEnding)
    _, found = counted.window(server.instrument, server, FakeClock(), lambda: LoadResult(0, (0, 0), (1, 1), 10, {}))
    assert [each.instructions for each in found.executed] == [1000.0]


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"load__count": "on"}, "a fixed number of transactions"),
        ({"load__count": "misses"}, "a fixed number of transactions"),
        ({**COUNTED, "load__rate": "100"}, "load.rate"),
        ({**COUNTED, "load__clients": "2"}, "2 clients"),
        ({**COUNTED, "load__cuts": "3"}, "load.cuts"),
        ({**COUNTED, "server__jit": "on"}, "server.jit"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(levels: Mapping[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        counted.require(arm_with(load__driver="pgbench", **levels))


def test_a_missing_instrument_is_named_and_only_where_it_is_needed() -> None:
    arm = arm_with(load__driver="pgbench", **COUNTED)
    missing = replace(arm.environment, instruments={"on": FakeInstrument(missing="no Valgrind")})
    there = resolve(arm.study, missing).arms[0]
    with pytest.raises(UsageError, match="no Valgrind"):
        counted.require(there)
    counted.require(resolve(arm_with(load__driver="pgbench").study, missing).arms[0])


def test_each_level_has_an_instrument_of_its_own() -> None:
    arm = arm_with(load__driver="pgbench", load__count="hardware", load__transactions="100")
    instruments = {"on": FakeInstrument(), "hardware": FakeInstrument(missing="no counter")}
    there = resolve(arm.study, replace(arm.environment, instruments=instruments)).arms[0]
    assert there.instrument is instruments["hardware"]
    with pytest.raises(UsageError, match="no counter"):
        counted.require(there)


def test_a_server_that_runs_already_is_refused() -> None:
    arm = arm_with(load__driver="pgbench", **COUNTED)
    attached = replace(arm.environment, server=ServerAccess(ours=False))
    with pytest.raises(UsageError, match="runs already cannot be counted"):
        counted.require(resolve(arm.study, attached).arms[0])


def test_nothing_begins_by_a_clock_and_nothing_is_compiled_meanwhile() -> None:
    arm = arm_with(load__driver="pgbench", **COUNTED, server__autovacuum="on")
    found = settings_of(arm.study, arm.setup)
    assert (found["jit"], found["autovacuum"]) == ("off", "on"), "what the user sets is left alone"
    assert found["fsync"] == "off", "a disk takes longer than what is counted"
    assert "jit" not in settings_of(arm.study, arm_with(load__driver="pgbench").setup)


def test_the_shorter_window_has_a_tenth_of_the_transactions() -> None:
    options = PgbenchOptions(counting="on", transactions=25)
    assert options.warm_up() == replace(options, transactions=3)
    assert PgbenchOptions(transactions=25, warmup_s=4).warm_up() == PgbenchOptions(duration_s=4)


@dataclass
class Counting(Simulation):
    """A simulated machine whose servers execute so much for each transaction, to connect, and to connect first."""

    instrument: FakeInstrument = field(default_factory=FakeInstrument)
    connected: int = 0
    looks: FakeReader = field(default_factory=lambda: FakeReader(FakeClock(), WAITS))

    def environment(self) -> Environment:
        usual = super().environment()

        def load(options: LoadOptions, installation: Any) -> Any:
            found = cast("Any", usual.load(options, installation))
            played = found.run

            def run(server: Server, output: Path, seed: int) -> LoadResult:
                assert isinstance(server, FakeServer)
                result: LoadResult = played(server, output, seed)
                fillfactor = server.state["tables"]["pgbench_accounts"] or "100"
                first = 0.0 if self.instrument.begun == self.connected else READING_CATALOGUE
                self.connected = self.instrument.begun
                self.instrument.end(first + CONNECTING + result.transactions * PER_TRANSACTION[fillfactor])
                return result

            found.run = run
            return found

        def probes(server: Server, directory: Path) -> Sequence[Reader]:
            return (*usual.probes(server, directory), self.looks)

        return replace(usual, instruments=dict.fromkeys(COUNT_LEVELS, self.instrument), load=load, probes=probes)


def test_scripts_come_in_one_order_in_all_attempts_of_a_block() -> None:
    seeds = {(block, attempt): trial_seed(7, block, attempt) for block in range(1, 9) for attempt in (1, 2, 3)}
    assert len({seed // SEEDS_OF_BLOCK for seed in seeds.values()}) == 8
    plays = {seed + play for seed in seeds.values() for play in range(3)}
    assert len(plays) == 3 * len(seeds), "each play has keys of its own"
    assert all(len({seeds[block, each] // SEEDS_OF_BLOCK for each in (1, 2, 3)}) == 1 for block in range(1, 9))


def counting(place: Path, count: str = "on") -> Counting:
    study = study_of(load={"count": count, "transactions": "1000", "duration": "8s", "checkpoint": "none"})
    return Counting(simulate(place).machine, replace(study, primary=NAME), events={})


def counting_along(place: Path, **design: Any) -> Counting:
    study = study_of(load={"count": "also:200", "clients": "4"}, design={"blocks": {"min": 8, "max": 8}, **design})
    return Counting(simulate(place).machine, study, events={})


def test_a_whole_run_counts(tmp_path: Path) -> None:
    simulation = counting(tmp_path)
    simulation.carry_on()
    ending(simulation)
    for trial in simulation.run.trials:
        assert trial.status is Status.VALID, trial.reasons
        assert trial.regime["counted"] == "a fake"
        expected = PER_TRANSACTION[trial.levels["table.fillfactor"].canonical]
        assert trial.responses[NAME] == pytest.approx(expected)
        assert (trial.responses["tps"], trial.regime["window_s"], trial.regime["warmup_s"]) == (None, None, None)
        found = decode(simulation.machine.disk.read(RUN / "trials" / f"{trial.number:06d}" / FILE))
        assert found.functions["exec_execute"] == pytest.approx((expected, expected / 10))
    assert simulation.instrument.begun == len(simulation.run.trials)
    assert "server freeze" in simulation.machine.moments
    assert simulation.machine.left_behind() == []


def test_modelled_misses_are_responses_only_where_they_are_asked_for(tmp_path: Path) -> None:
    without, asked = counting(tmp_path), counting(tmp_path, "misses")
    asked.instrument = FakeInstrument(misses=True)
    for each in (without, asked):
        each.carry_on()
    names = {each.name for each in counted.MODELLED_MISSES.values()}
    assert all("modelled" in each.name and "modelled" in each.title for each in counted.MODELLED_MISSES.values())
    assert not any(names & trial.responses.keys() for trial in ending(without).trials)
    for trial in ending(asked).trials:
        assert trial.responses["tps"] is None
        expected = (trial.responses[NAME] or 0.0) / 100
        assert [trial.responses[name] for name in names] == pytest.approx([expected] * 3)
    declared = counted.responses([PgbenchOptions(counting="misses", transactions=9)])
    assert {each.name for each in declared} == {NAME, *names}
    assert counted.responses([PgbenchOptions(counting="also:9")]) == (counted.INSTRUCTIONS,)


def test_nobody_looks_how_backends_wait_and_no_disk_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_back: list[Path] = []
    monkeypatch.setattr(FakeDrive, "write_back", lambda drive, directory: written_back.append(directory))
    simulation = counting(tmp_path)
    simulation.carry_on()
    assert (simulation.looks.settled, written_back) == (0, [])
    simulate(tmp_path, events={}).carry_on()
    assert written_back, "a timed window begins when the clone is on the disk"


def test_a_run_that_was_killed_between_its_windows_goes_on_to_the_same_end(tmp_path: Path) -> None:
    whole, cut = counting(tmp_path), counting(tmp_path)
    whole.carry_on()
    between = whole.machine.moments.index("load run") + 2
    cut.machine.planned = {between: Planned.KILL}
    with pytest.raises(Crashed):
        cut.carry_on()
    assert cut.machine.moments[-1] != whole.machine.moments[-1]
    cut.go_on()
    after, usual = ending(cut), ending(whole)
    assert [each.responses[NAME] for each in after.trials] == [each.responses[NAME] for each in usual.trials]
    assert after.reason == usual.reason
    assert cut.machine.left_behind() == []


def test_counts_along_with_times_change_no_decision(tmp_path: Path) -> None:
    both = counting_along(tmp_path)
    held = {name: level for name, level in both.study.fixed.items() if name != "load.count"}
    timed = simulate(tmp_path, study=replace(both.study, fixed=held), events={})
    timed.carry_on()
    both.carry_on()
    before, after = ending(timed), ending(both)
    assert (after.decisions, after.reason) == (before.decisions, before.reason)
    assert both.machine.left_behind() == []
    for alone, trial in zip(before.trials, both.run.trials, strict=True):
        assert trial.responses["tps"] == alone.responses["tps"]
        assert trial.length_s == pytest.approx(alone.length_s)
        assert ("counted" in trial.regime, trial.regime["window_s"]) == (False, alone.regime["window_s"])
        if trial.block > COUNTED_BLOCKS:
            assert NAME not in trial.responses
            continue
        expected = PER_TRANSACTION[trial.levels["table.fillfactor"].canonical]
        assert trial.responses[NAME] == pytest.approx(expected)
        assert trial.regime["counted_along"] == "a fake"
        assert trial.timings_s["counted_along"] > 0.0
        found = decode(both.machine.disk.read(RUN / "trials" / f"{trial.number:06d}" / FOLDER / FILE))
        assert found.transactions == 180
        assert found.functions["exec_execute"] == pytest.approx((expected, expected / 10))


def test_servers_in_turns_are_counted_after_their_block_and_a_killed_count_is_made_again(tmp_path: Path) -> None:
    whole, cut = (counting_along(tmp_path, pairing="alternate", blocks={"min": 5, "max": 5}) for _ in range(2))
    whole.carry_on()
    counting = [place for place, moment in enumerate(whole.machine.moments, start=1) if moment == "server freeze"]
    cut.machine.planned = {counting[-1] + 1: Planned.KILL}
    with pytest.raises(Crashed):
        cut.carry_on()
    cut.go_on()
    after, usual = ending(cut), ending(whole)
    assert {each.regime["pairing"] for each in usual.trials} == {"alternate"}
    assert all(each.responses[NAME] for each in usual.trials)
    assert [each.responses for each in after.trials] == [each.responses for each in usual.trials]
    assert after.reason == usual.reason
    assert cut.machine.left_behind() == []


class Losing(FakeInstrument):
    """The first server under it writes no counts."""

    def end(self, instructions: float, kind: str = BACKEND) -> None:
        if self.begun != 1:
            super().end(instructions, kind)


def test_one_lost_count_leaves_blocks_enough_for_a_verdict(tmp_path: Path) -> None:
    usual = counting_along(tmp_path)
    simulation = Counting(usual.machine, usual.study, events={}, instrument=Losing())
    simulation.carry_on()
    counts = [(each.block, each.responses[NAME]) for each in ending(simulation).trials if NAME in each.responses]
    assert [block for block, count in counts if count is None] == [1]
    assert len({block for block, _ in counts} - {1}) >= FIRST_LOOK


@dataclass
class Uncountable(Counting):
    """Its servers write no counts."""

    def environment(self) -> Environment:
        return replace(super().environment(), instruments=dict.fromkeys(COUNT_LEVELS, FakeInstrument()))


def test_a_timed_trial_stands_where_it_cannot_be_counted(tmp_path: Path) -> None:
    simulation = counting_along(tmp_path)
    simulation = Uncountable(simulation.machine, simulation.study, events={})
    simulation.carry_on()
    first, *_ = ending(simulation).trials
    assert first.status is Status.VALID
    assert (first.responses["tps"] is None, first.responses[NAME]) == (False, None)
    assert "count" in str(first.regime["counted_along"])


def test_a_record_that_a_counted_trial_cannot_write_is_named_by_its_run() -> None:
    staging = RUN / "trials" / ".staging-000003"
    for place in (staging, staging / FOLDER):
        assignment = Assignment(3, 1, 1, arm_with(load__driver="pgbench").arm, 7, place)
        with pytest.raises(RecordError) as raised, assignment.keeping("the counts"):
            raise OSError(28, "No space left on device")
        assert str(raised.value.hint).endswith(f"resume {RUN}")


def test_counts_along_with_times_are_refused_for_the_same_reasons(tmp_path: Path) -> None:
    arm = arm_with(load__driver="pgbench", load__count="also", load__clients="8", server__jit="on")
    counted.require(arm)
    assert arm.whole.counted is not None
    options = arm.whole.counted.arms[0].setup.load
    assert (options.count, options.transactions, options.connections) == (True, 500, 1)
    with pytest.raises(UsageError, match="jit"):
        counted.require(arm.whole.counted.arms[0])
    clients = study_of(conditions={"load.clients": ["1", "8"]}, load={"count": "also"})
    with pytest.raises(UsageError, match="one number of clients"):
        counted.require(resolve(clients, arm.environment).arms[0])
    counts = study_of(conditions={"load.count": ["also", "off"]})
    with pytest.raises(UsageError, match="cannot be varied"):
        counted.require(resolve(counts, arm.environment).arms[0])


def test_a_rate_is_of_the_timed_trials_alone() -> None:
    arm = arm_with(load__driver="pgbench", load__count="also", load__rate="100")
    counted.require(arm)
    assert arm.whole.counted is not None
    counted.require(arm.whole.counted.arms[0])
