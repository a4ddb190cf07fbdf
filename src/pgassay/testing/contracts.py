"""What factors, loads, probes, drives, report sections and importers keep, as classes of tests that ours and plug-ins
pass.

A plug-in's tests derive from them and say by fixtures what is tested; pytest collects the rest:

    class TestRowCounter(ProbeContract):
        @pytest.fixture
        def probe(self) -> Probe:
            return RowCounter()

Tests that start a PostgreSQL are marked `system`; register that marker in your own pytest settings.
"""

import json
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import pytest

from pgassay.drive.block.filesystems import Filesystem
from pgassay.drive.block.image import ImageVolume, PluginDrive
from pgassay.drive.block.kernel import LinuxKernel, backing_file
from pgassay.drive.root import open_root
from pgassay.errors import UsageError
from pgassay.host.runner import LocalRunner, SystemClock
from pgassay.host.storage import mount_of
from pgassay.importing.files import READERS
from pgassay.importing.reader import ForeignFile, Options, Reading
from pgassay.importing.reader import Reader as FileReader
from pgassay.interfaces.client import LOOPBACK
from pgassay.interfaces.errors import DriveError
from pgassay.interfaces.factor import Factor, Readable, SetupDraft, Stage, matches
from pgassay.interfaces.load import Driver, Load, LoadOptions, LoadResult, Tools
from pgassay.interfaces.options import factors_of
from pgassay.interfaces.places import Account, Listening
from pgassay.interfaces.probe import Probe, Reader, Target
from pgassay.interfaces.running import Clock
from pgassay.interfaces.server import Installation, Server
from pgassay.load.references import LOOPBACK_ADDRESS
from pgassay.probe.registry import PROBES, Probes
from pgassay.report.contents import SECTIONS
from pgassay.report.findings import Findings
from pgassay.report.json_values import to_json
from pgassay.report.section import Block, Section, Sentences, Surface, Values
from pgassay.testing import real
from pgassay.testing.fakes import FakeInstallation, FakeServer
from pgassay.testing.planted import make_run


class FactorContract:
    """What every factor keeps; give fixtures `factor` and `levels`, and `refused` for what it must not take."""

    @pytest.fixture
    def factor(self) -> Factor:
        """The factor under test; a subclass overrides this fixture."""
        raise NotImplementedError("the test class must have a fixture `factor`")

    @pytest.fixture
    def levels(self) -> Mapping[str, str]:
        """At least two levels as typed, to their canonical form."""
        raise NotImplementedError("the test class must have a fixture `levels`")

    @pytest.fixture
    def refused(self) -> Sequence[str]:
        """Texts that are no level."""
        return ("", "not a level")

    @pytest.fixture
    def name(self, factor: Factor) -> str:
        """A name that the factor covers."""
        return factor.pattern.replace("*", "some_name")

    @pytest.fixture
    def server(self, tmp_path: Path) -> FakeServer:
        """A server without processes, which knows only the statements that pgassay's own factors use."""
        installation = FakeInstallation()
        installation.initialize(tmp_path / "data", {})
        return installation.start(tmp_path / "data", {}, tmp_path)

    def test_it_says_what_it_is(self, factor: Factor, name: str) -> None:
        assert "." in factor.pattern, "a name has its namespace before it"
        assert matches(factor.pattern, name)
        assert factor.summary, "a line for pgassay studies --factors"
        assert factor.stage in Stage

    def test_a_level_has_one_canonical_form(self, factor: Factor, name: str, levels: Mapping[str, str]) -> None:
        assert len(set(levels.values())) >= 2, "at least two levels, to vary it"
        for typed, canonical in levels.items():
            level = factor.parse(name, typed)
            assert (level.typed, level.canonical) == (typed, canonical)
            assert factor.parse(name, canonical).canonical == canonical

    def test_nonsense_is_refused(self, factor: Factor, name: str, refused: Sequence[str]) -> None:
        for typed in refused:
            with pytest.raises(UsageError):
                factor.parse(name, typed)

    def test_preparing_twice_asks_for_the_same(self, factor: Factor, name: str, levels: Mapping[str, str]) -> None:
        for typed in levels:
            once, again = SetupDraft(), SetupDraft()
            level = factor.parse(name, typed)
            factor.prepare(name, level, once)
            factor.prepare(name, level, again)
            assert once == again

    def test_what_is_read_back_is_what_holds_and_not_what_was_asked(
        self, factor: Factor, name: str, levels: Mapping[str, str], server: FakeServer
    ) -> None:
        asked = [factor.parse(name, typed) for typed in levels]
        read = [factor.read_back(name, level, Readable(server)) for level in asked]
        assert set(read) == {read[0]}, "one server has one answer, whatever the level"

    def test_it_tells_before_a_run_whether_this_machine_can_have_it(self, factor: Factor, name: str) -> None:
        reason = factor.unavailable(name)
        assert reason is None or reason


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
        levels, read_back = options.to_levels(), dict[str, str | None]()
        for factor in factors_of(driver.options):
            name = factor.pattern.removeprefix("load.")
            if factor.stage is Stage.DATA and name in levels:
                level = factor.parse(factor.pattern, levels[name])
                read_back[name] = factor.read_back(factor.pattern, level, Readable(bench.server))
        bench.read_back = read_back
        yield bench
    finally:
        bench.server.stop()


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


@dataclass(frozen=True)
class TimedRun:
    """What a load's run gave, the folder with its outputs, and the monotonic clock just before and after it."""

    result: LoadResult
    output: Path
    before_ns: int
    after_ns: int


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

    @pytest.fixture(scope="class")
    @classmethod
    def timed(cls, bench: LoadOnServer, tmp_path_factory: pytest.TempPathFactory) -> TimedRun:
        """One run of two seconds, which several tests look at."""
        clock, output = bench.tools.clock, tmp_path_factory.mktemp("timed") / "out"
        before = clock.monotonic_ns()
        return TimedRun(bench.load().run(bench.server, output, 1), output, before, clock.monotonic_ns())

    def test_a_run_says_what_it_did(self, bench: LoadOnServer, timed: TimedRun) -> None:
        result = timed.result
        assert (result.status, dict(result.problems)) == (0, {})
        assert timed.before_ns <= result.started_monotonic_ns < result.finished_monotonic_ns <= timed.after_ns
        window_s = (result.finished_monotonic_ns - result.started_monotonic_ns) / 1e9
        assert 1.9 < window_s < 600
        assert result.started_wall_ns < result.finished_wall_ns
        tps = result.responses["tps"]
        assert tps is not None
        # On a busy machine the first one may begin long after the program, and the last one end long after two seconds.
        least_s = 2 - bench.connected_s(timed.output)
        assert 0.75 * tps * least_s <= result.transactions <= 1.25 * tps * window_s
        assert set(result.responses) == {response.name for response in bench.load().responses}
        assert list(timed.output.iterdir()), "raw outputs are kept"

    def test_the_series_lies_inside_the_run(self, bench: LoadOnServer, timed: TimedRun) -> None:
        result = timed.result
        assert [sample for sample in result.series if sample.name == "tps"]
        for sample in result.series:
            assert sample.source == bench.driver.name
            assert result.started_monotonic_ns <= sample.monotonic_ns <= result.finished_monotonic_ns
            assert result.started_wall_ns <= sample.wall_ns <= result.finished_wall_ns

    def test_every_level_it_echoes_agrees(self, bench: LoadOnServer, timed: TimedRun) -> None:
        _require_echo(bench, bench.options, timed.result.read_back)

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


@dataclass(frozen=True)
class Readers:
    """Readers that work, readers whose object (a process, a disk) is gone, and the clock that stamps them.

    `sparse` are sources that may have no value at all on this version or machine.
    """

    clock: Clock
    working: tuple[Reader, ...]
    orphaned: tuple[Reader, ...] = ()
    sparse: tuple[str, ...] = ()


class ReaderContract:
    """What every reader keeps; give a fixture `readers`, of the scope of the class."""

    @pytest.fixture(scope="class")
    @classmethod
    def readers(cls) -> Readers | Iterator[Readers]:
        """The readers under test; the fixture that made them closes them."""
        raise NotImplementedError("the test class must have a fixture `readers`")

    def test_a_reading_has_every_declared_meter_and_no_other(self, readers: Readers) -> None:
        for reader in (*readers.working, *readers.orphaned):
            read = {reading.source: set(reading.values) for reading in reader.read()}
            assert read == {source: {meter.name for meter in meters} for source, meters in reader.meters.items()}

    def test_no_two_readers_share_a_source(self, readers: Readers) -> None:
        sources = [source for reader in readers.working for source in reader.meters]
        assert len(set(sources)) == len(sources)

    def test_times_are_of_the_moment(self, readers: Readers) -> None:
        for reader in readers.working:
            monotonic_ns, wall_ns = readers.clock.monotonic_ns(), readers.clock.wall_ns()
            for reading in reader.read():
                assert monotonic_ns <= reading.monotonic_ns <= readers.clock.monotonic_ns()
                assert wall_ns <= reading.wall_ns <= readers.clock.wall_ns()

    def test_counters_never_go_back(self, readers: Readers) -> None:
        for reader in readers.working:
            reader.settle()
            first = {reading.source: reading.values for reading in reader.read()}
            readers.clock.sleep(0.2)
            second = {reading.source: reading.values for reading in reader.read()}
            for source, meters in reader.meters.items():
                for meter in meters:
                    old, new = first[source][meter.name], second[source][meter.name]
                    assert (old is None) == (new is None), f"{source}.{meter.name}"
                    if meter.cumulative and old is not None and new is not None:
                        assert new >= old, f"{source}.{meter.name}"

    def test_something_is_read(self, readers: Readers) -> None:
        for reader in readers.working:
            for reading in reader.read():
                if reading.source not in readers.sparse:
                    assert any(value is not None for value in reading.values.values()), reading.source

    def test_what_is_gone_is_none_never_zero(self, readers: Readers) -> None:
        for reader in readers.orphaned:
            reader.settle()
            for reading in reader.read():
                assert set(reading.values.values()) == {None}

    def test_closing_twice_is_harmless(self, readers: Readers) -> None:
        for reader in readers.orphaned:
            reader.close()
            reader.close()


class ProbeContract:
    """What every probe keeps, as a description and on a private server; give a fixture `probe`."""

    @pytest.fixture
    def probe(self) -> Probe:
        """The probe under test; a subclass overrides this fixture."""
        raise NotImplementedError("the test class must have a fixture `probe`")

    def test_it_says_what_it_is(self, probe: Probe) -> None:
        assert probe.name.isidentifier()
        assert probe.summary, "a line for readers"
        assert probe.meters, "it reads something"

    def test_meters_are_declared_once(self, probe: Probe) -> None:
        for source, meters in probe.meters.items():
            names = [meter.name for meter in meters]
            assert len(set(names)) == len(names), source
            assert all(meter.unit for meter in meters), "every meter has a unit"

    def test_its_sources_and_responses_are_its_own(self, probe: Probe) -> None:
        others = [other for other in PROBES if other.name != probe.name]
        assert not set(probe.meters) & {source for other in others for source in other.meters}
        names = [cost.response.name for cost in probe.costs]
        assert len(set(names)) == len(names)
        assert not set(names) & {cost.response.name for other in others for cost in other.costs}

    def test_a_response_says_its_unit_and_title(self, probe: Probe) -> None:
        assert all(cost.response.unit and cost.response.title for cost in probe.costs)

    def test_a_response_of_nothing_is_none_never_zero(self, probe: Probe) -> None:
        counters = {f"{source}.{meter.name}": None for source, meters in probe.meters.items() for meter in meters}
        for missing in ({}, counters):
            assert {cost.value(missing, 1000) for cost in probe.costs} <= {None}

    def test_a_window_without_transactions_breaks_nothing(self, probe: Probe) -> None:
        counters = {f"{source}.{meter.name}": 0.0 for source, meters in probe.meters.items() for meter in meters}
        for cost in probe.costs:
            cost.value(counters, 0)

    @pytest.fixture(scope="class")
    @classmethod
    def target(cls) -> Iterator[Target]:
        """One private server for all tests of the class."""
        with real.server() as (server, directory):
            yield Target(server, directory, SystemClock())

    @pytest.mark.system
    def test_on_a_server_it_reads_what_it_declares(self, probe: Probe, target: Target) -> None:
        readers = self.opened(probe, target)
        try:
            for reader in readers:
                reader.settle()
            found = {reading.source: reading.values for reader in readers for reading in reader.read()}
        finally:
            for reader in readers:
                reader.close()
                reader.close()  # twice is harmless
        assert set(found) <= set(probe.meters)
        for source, values in found.items():
            assert set(values) == {meter.name for meter in probe.meters[source]}

    @pytest.mark.system
    def test_of_a_server_that_is_gone_it_reads_none_and_raises_nothing(self, probe: Probe) -> None:
        if not probe.asks_server:
            pytest.skip("it asks no server")
        with real.server() as (server, directory):
            readers = self.opened(probe, Target(server, directory, SystemClock()))
            server.stop()
            values = {value for reader in readers for reading in reader.read() for value in reading.values.values()}
            for reader in readers:
                reader.close()
        assert values <= {None}

    def opened(self, probe: Probe, target: Target) -> Sequence[Reader]:
        """Its readers; skips the test where it says that it cannot read."""
        reason = probe.unavailable(target)
        if reason is not None:
            pytest.skip(f"not on this machine: {reason}")
        return Probes(ours=(), foreign=(probe,)).open(target)


class DriveContract:
    """What every disk in a file keeps, its drive being a fixture `drive`. Nothing is mounted."""

    @pytest.fixture
    def drive(self) -> PluginDrive:
        """The kind under test; a subclass overrides this fixture."""
        raise NotImplementedError("the test class must have a fixture `drive`")

    @pytest.fixture
    def volume(self, drive: PluginDrive, tmp_path: Path) -> ImageVolume:
        """A disk of 8 MiB, not made yet."""
        account = Account(None, os.getuid(), os.getgid())
        root = open_root(tmp_path, account, mount_of, allow_volatile=True)
        home = tmp_path / "session" / "disk"
        home.mkdir(parents=True)
        return drive.volume(root, home, 8 << 20, LinuxKernel(LocalRunner(account)), mount_of, "plugin:tested")

    def test_it_says_what_it_is(self, drive: PluginDrive) -> None:
        assert drive.summary, "a line for readers"

    def test_a_new_disk_has_its_capacity_and_is_empty(self, volume: ImageVolume) -> None:
        for _ in range(2):
            volume.blank()
            assert volume.file.read_bytes() == bytes(volume.capacity_bytes)
            volume.file.write_bytes(b"worn")

    def test_a_kept_disk_comes_back_for_every_trial(self, volume: ImageVolume) -> None:
        volume.blank()
        contents = b"data".ljust(volume.capacity_bytes, b"\0")
        volume.file.write_bytes(contents)
        volume.keep("key")
        assert volume.has("key")
        assert not volume.has("other")
        for _ in range(2):
            volume.restore("key")
            assert volume.file.read_bytes() == contents
            volume.file.write_bytes(b"worn")

    def test_a_forgotten_disk_is_gone(self, volume: ImageVolume) -> None:
        volume.blank()
        volume.keep("key")
        volume.forget("key")
        assert not volume.has("key")
        with pytest.raises(DriveError, match="snapshot"):
            volume.restore("key")

    @pytest.mark.system
    def test_it_is_a_loop_device_over_its_file(self, volume: ImageVolume) -> None:
        try:
            LinuxKernel(LocalRunner(Account(None, os.getuid(), os.getgid()))).require(Filesystem())
        except DriveError as error:
            pytest.skip(error.message)
        volume.blank()
        try:
            assert backing_file(volume.attach()) == volume.file, "whoever repairs looks for these"
        finally:
            volume.close()

    def test_closing_leaves_nothing_where_it_worked(self, volume: ImageVolume) -> None:
        volume.blank()
        home = volume.file.parent
        assert [path.name for path in home.iterdir()] == [volume.file.name], "a killed run's disk is found in its file"
        volume.close()
        volume.close()
        assert list(home.iterdir()) == []


class SectionContract:
    """What every section keeps; give a fixture `section`, and `findings` (of the class) if it needs another run."""

    @pytest.fixture
    def section(self) -> Section:
        """The section under test; a subclass overrides this fixture."""
        raise NotImplementedError("the test class must have a fixture `section`")

    @pytest.fixture(scope="class")
    @classmethod
    def findings(cls, tmp_path_factory: pytest.TempPathFactory) -> Findings:
        """Eight blocks of the study fillfactor in which 75 is 20 % better."""
        return Findings(make_run(tmp_path_factory.mktemp("planted") / "run"))

    def test_it_says_what_it_is(self, section: Section) -> None:
        assert section.title
        assert section.name.replace("-", "_").isidentifier(), "it becomes an anchor of the page"
        assert section.name not in {other.name for other in SECTIONS if other is not section}

    def test_its_place_exists(self, section: Section) -> None:
        assert section.after in {"", *(other.name for other in SECTIONS)}

    def test_it_is_made_of_blocks(self, section: Section, findings: Findings) -> None:
        blocks = list(section.blocks(findings))
        assert all(isinstance(block, get_args(Block)) for block in blocks)
        for surface in (Surface.PAGE, Surface.TERMINAL):
            assert surface in section.on or section.shown(findings, surface) == ()

    def test_a_sentence_leaves_its_full_stop_to_the_surface(self, section: Section, findings: Findings) -> None:
        texts = [text for block in section.blocks(findings) if isinstance(block, Sentences) for text in block.texts]
        assert [text for text in texts if text.endswith(".") and not text.endswith("…")] == []

    def test_its_numbers_have_names_and_are_values(self, section: Section, findings: Findings) -> None:
        plain = section.plain(findings)
        assert all(isinstance(key, str) for key in plain)
        json.loads(to_json(plain))

    def test_it_says_the_same_again(self, section: Section, findings: Findings) -> None:
        first, again = (
            to_json([part.values for part in section.parts(findings) if isinstance(part, Values)]) for _ in range(2)
        )
        assert first == again


OTHER_FILES = ("", "#!/bin/sh\necho done\n", "a,b\n1,2\n", '{"a": 1}\n', "tps\n")
"""Texts that no program of benchmarks writes."""


class ImporterContract:
    """What every reader keeps; give fixtures `reader` and `files`: outputs of its program, each with its runs."""

    @pytest.fixture
    def reader(self) -> FileReader:
        """The reader under test; a subclass overrides this fixture."""
        raise NotImplementedError("the test class must have a fixture `reader`")

    @pytest.fixture
    def files(self, tmp_path: Path) -> Sequence[Path]:
        """At least one file that it reads; each holds at least one run."""
        raise NotImplementedError("the test class must have a fixture `files`")

    def test_it_says_what_it_is(self, reader: FileReader) -> None:
        assert reader.name
        assert reader.name not in {other.name for other in READERS if other is not reader}

    def test_it_recognises_its_files_by_their_contents(
        self, reader: FileReader, files: Sequence[Path], tmp_path: Path
    ) -> None:
        for number, path in enumerate(files):
            other_name = tmp_path / f"renamed-{number}"
            other_name.write_bytes(path.read_bytes())
            assert reader.recognises(ForeignFile.open(other_name), Options()), path.name

    def test_no_other_reader_recognises_its_files(self, reader: FileReader, files: Sequence[Path]) -> None:
        for path in files:
            file = ForeignFile.open(path)
            assert not [other.name for other in READERS if other is not reader and other.recognises(file, Options())]

    def test_it_declares_the_responses_of_its_runs(self, reader: FileReader, files: Sequence[Path]) -> None:
        for reading in _readings(reader, files):
            declared = {response.name for response in reading.responses}
            for run in reading.runs:
                assert set(run.responses) <= declared

    @pytest.mark.parametrize("text", OTHER_FILES, ids=["empty", "script", "table", "json", "word"])
    def test_it_leaves_other_files_to_others(self, reader: FileReader, tmp_path: Path, text: str) -> None:
        path = tmp_path / "stranger"
        path.write_text(text, encoding="utf-8")
        assert not reader.recognises(ForeignFile.open(path), Options())

    def test_it_reads_runs_with_a_place_and_values(self, reader: FileReader, files: Sequence[Path]) -> None:
        readings = _readings(reader, files)
        runs = [run for reading in readings for run in reading.runs]
        assert len(runs) >= len(files)
        for run in runs:
            assert run.place
            for value in run.responses.values():
                assert value is None or math.isfinite(value)
            assert any(value is not None for value in run.responses.values()) or run.problems

    def test_it_reads_the_same_again(self, reader: FileReader, files: Sequence[Path]) -> None:
        once, again = (
            [run.responses for reading in _readings(reader, files) for run in reading.runs] for _ in range(2)
        )
        assert once == again

    def test_a_file_that_was_cut_short_gives_a_reason_or_a_problem(
        self, reader: FileReader, files: Sequence[Path], tmp_path: Path
    ) -> None:
        for number, path in enumerate(files):
            content = path.read_bytes()
            cut = tmp_path / f"cut-{number}"
            for share in (0.3, 0.6, 0.9):
                cut.write_bytes(content[: int(len(content) * share)])
                file = ForeignFile.open(cut)
                if reader.recognises(file, Options()):
                    for _, found in reader.read([file], Options()):
                        assert isinstance(found, Reading | str), "a reason, or what there is of it"


def _readings(reader: FileReader, files: Iterable[Path]) -> Iterator[Reading]:
    opened = [ForeignFile.open(path) for path in files]
    for path, found in reader.read(opened, Options()):
        assert isinstance(found, Reading), f"{path}: {found}"
        yield found
