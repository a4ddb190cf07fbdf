"""What every load keeps: it says what it did, its data are keyed by what they depend on, and it never raises in a run.

A load under test has its data in a running server, real or fake.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.bench.client import LOOPBACK
from pgassay.bench.factor import Readable, Stage
from pgassay.bench.load import Driver, Load, LoadOptions, Tools
from pgassay.bench.options import factors_of
from pgassay.bench.places import Listening
from pgassay.bench.server import Installation, Server
from pgassay.errors import UsageError
from pgassay.host.clock import SystemClock
from pgassay.load.references import LOOPBACK_ADDRESS
from pgassay.testing import real

WORK = 50
"""Transactions of each client where the work is counted."""


@dataclass
class LoadOnServer:
    """A load whose data are in a running server.

    `larger` is the option (a field of its options) that makes the data larger, by these `sizes`. `neutral` are changes
    of options that leave the data as they are. `refused` are levels (names without `load.`) that must be refused before
    a run, by the words of the message. `echoes` are the options that the program names in its output, where that is
    known; `counted` those that can be counted in the data. `read_back` is what was read back from the data as they were
    loaded. `connected_s` says for how many seconds of a run the program only connected, by the outputs in that folder.
    """

    driver: Driver[Any]
    options: LoadOptions
    tools: Tools
    server: Server
    start: Callable[[], Server]
    larger: str
    neutral: Mapping[str, object] = field(default_factory=dict)
    sizes: tuple[object, object] = (10, 100_000)
    refused: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    echoes: Collection[str] | None = None
    counted: Collection[str] = ()
    read_back: Mapping[str, str | None] = field(default_factory=dict)
    connected_s: Callable[[Path], float] = lambda output: 0.0

    def load(self, **changes: Any) -> Load:
        """The load with some options changed."""
        return self.driver.make(replace(self.options, **changes), self.tools)

    def of_levels(self, changes: Mapping[str, str]) -> Load:
        """The load with some levels written otherwise; raises `UsageError`."""
        levels = {**self.options.to_levels(), **changes}
        return self.driver.make(type(self.options).from_levels(levels), self.tools)


def on_server(
    driver: Driver[Any], options: LoadOptions, tools: Tools, installation: Installation, folder: Path, **more: Any
) -> Iterator[LoadOnServer]:
    """Fill a new cluster of an installation below `folder` with the load's data; stopped at the end.

    With `load.host = "loopback"` its server listens for the load's program.
    """
    installation.initialize(folder / "data", {})

    listening = Listening(LOOPBACK_ADDRESS, LOOPBACK_ADDRESS) if options.host == LOOPBACK else None

    def start() -> Server:
        return installation.start(folder / "data", {"fsync": "off"}, folder / "socket", listening=listening)

    bench = LoadOnServer(driver, options, tools, start(), start, **more)
    try:
        load = bench.load()
        load.create(bench.server)
        load.fill(bench.server)
        load.age(bench.server)
        bench.read_back = _read_back(bench)
        yield bench
    finally:
        bench.server.stop()


def _read_back(bench: LoadOnServer) -> dict[str, str | None]:
    levels = bench.options.to_levels()
    read_back = {}
    for factor in factors_of(bench.driver.options):
        name = factor.pattern.removeprefix("load.")
        if factor.stage is Stage.DATA and name in levels:
            level = factor.parse(factor.pattern, levels[name])
            read_back[name] = factor.read_back(factor.pattern, level, Readable(bench.server))
    return read_back


def load_on_server(driver: Driver[Any], options: LoadOptions, **more: Any) -> Iterator[LoadOnServer]:
    """The same on the PostgreSQL of this machine; skips the test where the load or a PostgreSQL is missing."""
    installation = real.installation()
    tools = Tools(installation.bindir, real.runner(), SystemClock())
    try:
        driver.require_program()
        driver.make(options, tools).check()
    except UsageError as error:
        pytest.skip(error.message)
    with real.private_folder() as folder:
        yield from on_server(driver, options, tools, installation, folder, **more)


class LoadContract:
    """What every load keeps; give a fixture `bench`, of the scope of the class. Its options ask for two seconds."""

    @pytest.fixture(scope="class")
    @classmethod
    def bench(cls) -> Iterator[LoadOnServer]:
        """The load under test with a server to run on; a subclass overrides this fixture."""
        raise NotImplementedError("the test class must have a fixture `bench`")

    def test_it_says_what_it_is(self, bench: LoadOnServer) -> None:
        assert bench.driver.name
        assert bench.driver.summary, "a line for pgassay studies --factors"
        assert bench.load().name == bench.driver.name
        assert bench.load().options == bench.options
        assert bench.options.connections >= 0

    def test_options_come_back_from_their_levels(self, bench: LoadOnServer) -> None:
        assert type(bench.options).from_levels(bench.options.to_levels()) == bench.options

    def test_responses_are_declared_once(self, bench: LoadOnServer) -> None:
        names = [response.name for response in bench.load().responses]
        assert "tps" in names
        assert len(set(names)) == len(names)

    def test_a_run_says_what_it_did(self, bench: LoadOnServer, tmp_path: Path) -> None:
        clock, load = bench.tools.clock, bench.load()
        before = clock.monotonic_ns()
        result = load.run(bench.server, tmp_path / "out", 1)
        assert (result.status, dict(result.problems)) == (0, {})
        assert before <= result.started_monotonic_ns < result.finished_monotonic_ns <= clock.monotonic_ns()
        window_s = (result.finished_monotonic_ns - result.started_monotonic_ns) / 1e9
        assert 1.9 < window_s < 600
        assert result.started_wall_ns < result.finished_wall_ns
        tps = result.responses["tps"]
        assert tps is not None
        # On a busy machine the first one may begin long after the program, and the last one end long after two seconds.
        least_s = 2 - bench.connected_s(tmp_path / "out")
        assert 0.75 * tps * least_s <= result.transactions <= 1.25 * tps * window_s
        assert set(result.responses) == {response.name for response in load.responses}
        assert list((tmp_path / "out").iterdir()), "raw outputs are kept"

    def test_the_series_lies_inside_the_run(self, bench: LoadOnServer, tmp_path: Path) -> None:
        result = bench.load().run(bench.server, tmp_path / "out", 2)
        assert [sample for sample in result.series if sample.name == "tps"]
        for sample in result.series:
            assert sample.source == bench.driver.name
            assert result.started_monotonic_ns <= sample.monotonic_ns <= result.finished_monotonic_ns
            assert result.started_wall_ns <= sample.wall_ns <= result.finished_wall_ns

    def test_every_level_it_echoes_agrees(self, bench: LoadOnServer, tmp_path: Path) -> None:
        load = bench.load()
        _require_echo(bench, load.options, load.run(bench.server, tmp_path / "out", 3).read_back)

    def test_what_is_read_back_from_the_data_agrees(self, bench: LoadOnServer) -> None:
        levels = bench.options.to_levels()
        read_back = {name: value for name, value in bench.read_back.items() if value is not None}
        assert read_back == {name: levels[name] for name in read_back}
        assert set(bench.counted) <= set(read_back)

    def test_equal_work_instead_of_a_length(self, bench: LoadOnServer, tmp_path: Path) -> None:
        if not bench.driver.takes("transactions"):
            pytest.skip("it cannot count its transactions")
        load = bench.load(transactions=WORK)
        assert load.options.timed_s is None
        result = load.run(bench.server, tmp_path / "out", 4)
        assert result.transactions == pytest.approx(WORK * bench.options.connections, abs=1)
        _require_echo(bench, load.options, result.read_back)
        assert "load.duration" not in result.read_back

    def test_only_what_the_data_depend_on_is_in_their_key(self, bench: LoadOnServer) -> None:
        key = bench.load().data_key()
        assert bench.load(duration_s=9).data_key() == key
        for name, value in bench.neutral.items():
            assert bench.load(**{name: value}).data_key() == key, name
        assert bench.load(**{bench.larger: bench.sizes[1]}).data_key() != key

    def test_more_data_take_more_room(self, bench: LoadOnServer) -> None:
        small, large = (bench.load(**{bench.larger: size}).estimated_bytes() for size in bench.sizes)
        assert 0 < small < large

    def test_what_cannot_run_is_refused_before_the_run(self, bench: LoadOnServer) -> None:
        bench.load().check()
        for words, changes in bench.refused.items():
            with pytest.raises(UsageError, match=words):
                bench.of_levels(changes).check()

    def test_it_is_played_in_slices_or_refuses_by_name(self, bench: LoadOnServer) -> None:
        load = bench.load()
        if load.ungated is not None:
            with pytest.raises(UsageError, match=re.escape(load.ungated)) as refused:
                load.gate(bench.server, 6)
            assert bench.driver.name in refused.value.message
            assert "sequential" in (refused.value.hint or ""), "the alternative"
            return
        with closing(load.gate(bench.server, 6)) as player:
            played = [player.play(transactions=WORK), player.play(duration_ms=300)]
            while not (played[1].transactions or played[1].aborted):  # nothing yet, on a busy machine
                played[1] = player.play(duration_ms=300)
        assert played[0].transactions == WORK * bench.options.connections
        assert played[1].transactions > 0
        assert all(not each.aborted for each in played)
        assert played[0].drained_ns <= played[1].opened_ns

    def test_a_dead_server_is_a_result_not_an_error(self, bench: LoadOnServer, tmp_path: Path) -> None:
        bench.server.stop()
        try:
            result = bench.load().run(bench.server, tmp_path / "out", 5)
        finally:
            bench.server = bench.start()
        assert result.status != 0
        assert result.problems
        assert result.transactions == 0
        assert result.responses["tps"] is None


def _require_echo(bench: LoadOnServer, options: LoadOptions, read_back: Mapping[str, str]) -> None:
    """What the program said is what was asked, and no less than it is known to say."""
    asked = {f"load.{name}": text for name, text in options.to_levels().items()}
    assert dict(read_back) == {name: asked[name] for name in read_back}
    if bench.echoes is not None:
        defaults = type(options)().to_levels()
        known = {name for name in bench.echoes if name not in ("duration", "transactions")}
        known |= {"transactions" if options.timed_s is None else "duration"} & set(bench.echoes)
        more = {name.removeprefix("load.") for name in read_back} - known
        assert known <= {name.removeprefix("load.") for name in read_back}
        assert all(asked[f"load.{name}"] == defaults[name] for name in more), "unasked, it names defaults only"
