"""Power cuts during a window: what each finds is told, all is given back, the load's log has the last word."""

import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pgassay.analysis.power_cuts import KINDS, ServerAtCut
from pgassay.drive.options import DriveOptions
from pgassay.errors import UsageError
from pgassay.interfaces.errors import ClusterError, DamagedError, DriveError, QueryError, StartTimeoutError
from pgassay.interfaces.load import LedgerState
from pgassay.interfaces.store import CrashReport, CrashRequest, CrashState
from pgassay.lab import power_cuts
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.power_cuts import PowerCuts, judge, replayed_bytes, responses, summed
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.record.power_cuts import HONEST, CutRecord
from pgassay.testing.fakes import FakeClock

CUT_NS = 10**12
RECORD = CutRecord(1, CUT_NS, 0, "all", 0, 1, 1, 1, 0, 0.5, 9.0, "sound", recovery_ms=5.0)
EARLIER = (CUT_NS - 10**9, True)


SEED = 3
CLONE = Path("/clone")
spread_over = power_cuts.spread_s


class Drive:
    """Cuts as planned by position: None for a crash state, an error to raise; `given` are those not given back."""

    def __init__(self, place: Path, plan: Sequence[Exception | None]) -> None:
        self.place = place
        self.plan = list(plan)
        self.requests: dict[int, CrashRequest] = {}
        self.given: set[int] = set()
        self.aiming = 0
        self.done = threading.Event()
        self.lock = threading.Lock()

    def cut(self, directory: Path, request: CrashRequest) -> CrashState:
        position = request.seed - SEED * 1_000_003
        with self.lock:
            self.requests[position] = request
            if request.page_within_s is not None:
                self.aiming += 1
                assert self.aiming == 1, "a drive waits for one page at a time"
        fault = self.plan[position]
        with self.lock:
            self.aiming -= request.page_within_s is not None
            if fault is not None:
                self._note()
                raise fault
            self.given.add(position)
        place = self.place / str(position)
        place.mkdir(parents=True)
        (place / "postmaster.pid").write_text("1\n")
        report = CrashReport(position + 1, CUT_NS, 0.5, position, 1, 2, 1, 1, None, ((0, 2, 1),))
        return CrashState(place, report, steps_ms={"clone": 0.5})

    def discard_cut(self, state: CrashState) -> None:
        with self.lock:
            self.given.remove(state.report.number - 1)
            self._note()

    def _note(self) -> None:
        if len(self.requests) == len(self.plan) and not self.given:
            self.done.set()


LOG = "LOG:  redo starts at 0/1000028\nLOG:  redo done at 0/3000028 system usage: CPU: user: 0.23 s"


class Server:
    """It has written to every file before each look, and made another checkpoint before each fourth one."""

    def __init__(self, installation: "Installation | None" = None) -> None:
        self.installation = installation
        self.stopped = False
        self.looks = 0

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if "pg_control_checkpoint" not in sql:
            return []
        self.looks += 1
        whole = max(0, (self.looks - 2) // 4)
        older = bytes(8) + (1).to_bytes(8, "little")
        return [(40 * whole + 1, 40 * whole + 19, 10 * self.looks + 16, 16, older, *[self.looks] * 6)]

    def log_text(self) -> str:
        return LOG

    def stop(self, *, immediately: bool = False) -> None:
        self.stopped = True
        if self.installation is not None:
            with self.installation.lock:
                self.installation.running -= 1


class Installation:
    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault
        self.servers: list[Server] = []
        self.settings: list[Mapping[str, str]] = []
        self.sockets: set[Path] = set()
        self.limits: set[float] = set()
        self.lock = threading.Lock()
        self.running = 0
        self.together: list[int] = []

    def start(
        self, directory: Path, settings: Mapping[str, str], sockets: Path, *, ready_s: float, crashed: Path
    ) -> Server:
        assert crashed == CLONE
        assert not (directory / "postmaster.pid").exists(), "it names a process that a reboot would have ended"
        with self.lock:
            self.settings.append(settings)
            self.sockets.add(sockets)
            self.limits.add(ready_s)
            if self.fault is not None:
                raise self.fault
            self.running += 1
            self.together.append(self.running)
            self.servers.append(Server(self))
            return self.servers[-1]


class Load:
    def __init__(self, state: LedgerState | Exception) -> None:
        self.state = state
        self.since: list[LedgerState | None] = []
        self.rules: Mapping[str, str] = {}

    def ledger_state(self, server: Any, seed: int, since: LedgerState | None = None) -> LedgerState:
        self.since.append(since)
        if isinstance(self.state, Exception):
            raise self.state
        return self.state

    def broken(self, server: Any) -> Mapping[str, str]:
        return self.rules

    def acknowledged(self, output: Path) -> Mapping[int, Sequence[tuple[int, bool]]]:
        return {0: [EARLIER]}


def arm(drive: Drive, installation: Installation, load: Load, cuts: int, **levels: str) -> ResolvedArm:
    options = PgbenchOptions.from_levels({"script": "ledger", "cuts": str(cuts), **levels})
    environment = SimpleNamespace(clock=FakeClock(), socket_directory=Path("/s"), held=nullcontext)
    made = SimpleNamespace(
        drive=drive,
        installation=installation,
        load=load,
        settings={"shared_buffers": "16MB"},
        environment=environment,
        setup=SimpleNamespace(load=options),
    )
    return cast("ResolvedArm", made)


SOUND_STATE = LedgerState({0: (1, 1)}, {"ledger": 5, "tellers": 5, "branches": 5})


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power_cuts, "_AFTER_S", 0.0)
    monkeypatch.setattr(power_cuts, "spread_s", lambda window_s, count: 0.0)


def made(
    place: Path,
    plan: Sequence[Exception | None],
    *,
    fault: Exception | None = None,
    state: LedgerState | Exception = SOUND_STATE,
    load: Load | None = None,
    **levels: str,
) -> tuple[Sequence[CutRecord], Drive, Installation]:
    drive, installation = Drive(place / "crash", plan), Installation(fault)
    resolved = arm(drive, installation, load or Load(state), len(plan), **levels)
    cuts = PowerCuts(resolved, CLONE, SEED)
    cuts.start(cast("Any", Server()))
    assert drive.done.wait(600)
    cuts.stop()
    cuts.close()
    return cuts.judged(Path("/output")), drive, installation


def test_sound_cuts_are_drawn_in_turn_and_given_back(tmp_path: Path) -> None:
    found, drive, installation = made(tmp_path, [None] * 23)
    assert [cut.verdict for cut in found] == ["sound"] * 23
    assert [drive.requests[position].draw for position in range(6)] == [draw for draw, _ in power_cuts.PLAN]
    assert [cut.seed for cut in found] == [power_cuts.crash_request(SEED, position).seed for position in range(23)]
    assert len({cut.seed for cut in found}) == 23
    assert all(server.stopped for server in installation.servers)
    assert drive.given == set()
    assert all(cut.ledger and cut.redo_bytes == 2 << 20 << 4 for cut in found)


def test_each_cut_has_what_the_server_under_load_had_done_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(power_cuts, "WORKERS", 1)
    found, *_ = made(tmp_path, [None] * 6)
    assert [cut.met and cut.met.checkpoints for cut in found] == [0, 0, 1, 1, 2, 2]
    assert all(cut.met and cut.met.recycled_wal and set(cut.met.written) == set(KINDS) for cut in found)


def test_a_quick_cut_reads_what_was_written_since_the_checkpoint_before_the_last_one_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows since the last cut alone are brought back by WAL, whatever became of the files of tables."""
    monkeypatch.setattr(power_cuts, "WORKERS", 1)

    class Growing(Load):
        def ledger_state(self, server: Any, seed: int, since: LedgerState | None = None) -> LedgerState:
            self.since.append(since)
            return replace(SOUND_STATE, rows={0: (1, len(self.since))})

    load = Growing(SOUND_STATE)
    made(tmp_path, [None] * 10, load=load)
    assert [since and since.rows[0][1] for since in load.since] == [None, 1, 1, 1, 1, 1, 2, 2, 4, None]


def test_one_in_eleven_and_the_last_are_recovered_as_set_and_checked_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(power_cuts, "WORKERS", 1)
    load = Load(SOUND_STATE)
    found, _, installation = made(tmp_path, [None] * 24, load=load)
    whole = [position for position, cut in enumerate(found) if cut.own_settings]
    assert whole == [0, 11, 22, 23]
    assert all((cut.recovery_ms is not None) is cut.own_settings for cut in found)
    as_set = [settings for settings in installation.settings if "fsync" not in settings]
    assert [settings["shared_buffers"] for settings in as_set] == ["16MB"] * 4
    quick = [settings for settings in installation.settings if "fsync" in settings]
    assert {settings["shared_buffers"] for settings in quick} == {"128MB"}
    assert load.since.count(None) == 4, "what an earlier cut has shown is not read again, but by a whole check"


def test_two_cuts_at_a_time_keep_out_of_each_others_way(tmp_path: Path) -> None:
    _, _, installation = made(tmp_path, [None] * 23)
    assert max(installation.together) <= power_cuts.WORKERS
    assert len(installation.sockets) <= power_cuts.WORKERS


def test_recoveries_that_are_timed_have_the_machine_for_themselves(tmp_path: Path) -> None:
    found, _, installation = made(tmp_path, [None] * 8, recovery="own", recovery_limit="7s")
    assert installation.together == [1] * 8
    assert all(cut.recovery_ms is not None for cut in found)
    assert installation.limits == {7.0}


@pytest.mark.parametrize(("window_s", "count", "apart_s"), [(60.0, 10, 6.0), (None, 10, 0.0), (0.0, 10, 0.0)])
def test_cuts_lie_all_over_a_window(window_s: float | None, count: int, apart_s: float) -> None:
    assert spread_over(window_s, count) == apart_s


def test_a_window_that_ends_early_has_one_more_cut_that_is_checked_whole(tmp_path: Path) -> None:
    drive, installation = Drive(tmp_path / "crash", [None] * 9), Installation()
    cuts = PowerCuts(arm(drive, installation, Load(SOUND_STATE), 9), CLONE, SEED)
    cuts.stop()
    cuts.close()
    (found,) = cuts.judged(Path("/output"))
    assert (found.seed, found.own_settings) == (power_cuts.crash_request(SEED, 0).seed, True)


def test_amcheck_that_is_not_installed_is_not_said_to_have_looked(tmp_path: Path) -> None:
    found, *_ = made(tmp_path, [None])
    assert not found[0].amcheck


@pytest.mark.parametrize(
    ("log", "replayed"),
    [(LOG, float(2 << 24)), ("LOG:  redo is not required", 0.0), ("LOG:  redo starts at 1/0", None)],
)
def test_the_wal_that_was_replayed_is_read_from_the_log(log: str, replayed: float | None) -> None:
    assert replayed_bytes(log) == replayed


@pytest.mark.parametrize(
    ("message", "verdict"),
    [
        ("server did not start: invalid page in block 11 of relation base/5/16396", "damaged_page"),
        ("server did not start: could not locate a valid checkpoint record", "no_recovery"),
        ("could not write to file: No space left on device", "drive_full"),
    ],
)
def test_a_server_that_does_not_start_is_damage_with_its_words(tmp_path: Path, message: str, verdict: str) -> None:
    found, drive, _ = made(tmp_path, [None, None], fault=ClusterError(message))
    assert [(cut.verdict, cut.detail) for cut in found] == [(verdict, message)] * 2
    assert drive.given == set()


def test_a_recovery_that_never_ends_has_its_own_name(tmp_path: Path) -> None:
    found, *_ = made(tmp_path, [None], fault=StartTimeoutError("server was not ready after 300 s"))
    assert found[0].verdict == "endless_recovery"


def test_a_page_that_cannot_be_read_is_damage_and_the_server_is_stopped(tmp_path: Path) -> None:
    found, _, installation = made(tmp_path, [None], state=QueryError("invalid page in block 3"))
    assert (found[0].verdict, found[0].evidence) == ("damaged_page", LOG)
    assert installation.servers[0].stopped


def test_sums_that_differ_are_half_a_transaction(tmp_path: Path) -> None:
    found, *_ = made(tmp_path, [None], state=LedgerState({0: (1, 1)}, {"ledger": 5, "accounts": 4}))
    assert found[0].verdict == "half_transaction"
    assert "accounts 4" in found[0].detail


def test_a_balance_that_its_last_row_does_not_have_is_half_a_transaction(tmp_path: Path) -> None:
    found, *_ = made(tmp_path, [None], state=replace(SOUND_STATE, differing=2))
    assert (found[0].verdict, "2 balances" in found[0].detail) == ("half_transaction", True)


def test_a_rule_of_the_data_that_does_not_hold_is_half_a_transaction_for_whole_checks(tmp_path: Path) -> None:
    load = Load(SOUND_STATE)
    load.rules = {"inconsistent": "3.3.2.1 in warehouse 1"}
    found, *_ = made(tmp_path, [None] * 3, load=load)
    assert [cut.verdict for cut in found] == ["half_transaction", "sound", "half_transaction"]
    assert found[0].detail == "3.3.2.1 in warehouse 1"


def test_a_damaged_file_system_is_damage_and_the_next_cut_goes_on(tmp_path: Path) -> None:
    found, drive, _ = made(tmp_path, [DamagedError("cannot be mounted"), None, None])
    assert [cut.verdict for cut in found] == ["damaged_filesystem", "sound", "sound"]
    assert drive.given == set()


def test_what_goes_wrong_with_the_drive_itself_is_a_fault_of_the_bench(tmp_path: Path) -> None:
    with pytest.raises(DriveError, match="silent"):
        made(tmp_path, [DriveError("silent")])


def test_the_log_of_the_load_tells_lost_commits() -> None:
    lost = judge(RECORD, LedgerState({}, {}), {0: [EARLIER]}, 0.0)
    assert (lost.verdict, lost.lost_commits, lost.loss_ms) == ("lost_commits", 1, 1000.0)
    allowed = judge(RECORD, LedgerState({}, {}), {0: [EARLIER]}, 1500.0)
    assert (allowed.verdict, allowed.loss_ms) == ("sound", 1000.0)
    hole = judge(RECORD, LedgerState({0: (1, 2)}, {}), {0: [EARLIER, EARLIER]}, 1500.0)
    assert hole.verdict == "lost_commits", "what follows a lost commit must be lost with it"
    invented = judge(RECORD, LedgerState({0: (9, 9)}, {}), {0: [EARLIER]}, 0.0)
    assert invented.verdict == "commits_never_sent"


def test_what_was_found_first_stays() -> None:
    torn = replace(RECORD, verdict="damaged_page")
    assert judge(torn, LedgerState({}, {}), {0: [EARLIER]}, 0.0).verdict == "damaged_page"
    assert judge(RECORD, None, {0: [EARLIER]}, 0.0) is RECORD


@pytest.mark.parametrize(
    ("levels", "remedy"),
    [
        ({"data": "image"}, "--set drive.data=ssd"),
        ({"data": "ssd", "wal": "ssd"}, "--set drive.wal=beside"),
        ({"data": "ssd", "wal": "directory"}, "--set drive.wal=beside"),
    ],
)
def test_the_remedy_for_a_drive_that_cannot_be_cut_is_accepted(levels: Mapping[str, str], remedy: str) -> None:
    """For WAL on a drive of its own it was once `--set drive.data=ssd`, which was set already."""

    def asked(levels: Mapping[str, str]) -> ResolvedArm:
        setup = SimpleNamespace(load=SimpleNamespace(cuts=1), drive=DriveOptions.from_levels(levels))
        return cast("ResolvedArm", SimpleNamespace(setup=setup))

    with pytest.raises(UsageError, match=r'"load\.cuts" needs') as caught:
        power_cuts.require(asked(levels))
    assert remedy in (caught.value.hint or "")
    name, _, value = remedy.removeprefix("--set drive.").partition("=")
    power_cuts.require(asked({**levels, name: value}))


def test_responses_are_there_only_where_cuts_are_asked_for() -> None:
    assert responses([PgbenchOptions()]) == ()
    declared = {each.name for each in responses([PgbenchOptions.from_levels({"cuts": "3"})])}
    assert declared == set(summed([RECORD], HONEST)) == set(summed([], HONEST))
    found = summed([RECORD, replace(RECORD, verdict="no_recovery", recovery_ms=None)], HONEST)
    assert (found["power_cuts"], found["unsafe_cuts"], found["crash_recovery_ms"]) == (2.0, 1.0, 5.0)


def test_cuts_of_one_epoch_count_once_and_on_a_drive_that_lies_all_are_of_one() -> None:
    cuts = [replace(RECORD, epoch=epoch, verdict=verdict) for epoch, verdict in
            ((3, "sound"), (3, "damaged_page"), (3, "no_recovery"), (8, "sound"))]  # fmt: skip
    found = {flush: summed(cuts, flush) for flush in ("honest", "lies", "data-first")}
    counts = {flush: (each["cut_epochs"], each["unsafe_epochs"]) for flush, each in found.items()}
    assert counts == {"honest": (2.0, 1.0), "lies": (1.0, 1.0), "data-first": (1.0, 1.0)}


def test_an_epoch_counts_for_the_bound_by_a_cut_after_a_whole_checkpoint() -> None:
    after = ServerAtCut(1, in_checkpoint=False, recycled_wal=False, written=())
    before = replace(after, checkpoints=0)
    met = ((3, after), (3, None), (3, after), (8, None), (9, before), (11, after))
    cuts = [replace(RECORD, epoch=epoch, met=each) for epoch, each in met]
    found = {flush: summed(cuts, flush)["cut_epochs_after_checkpoint"] for flush in ("honest", "lies")}
    assert found == {"honest": 2.0, "lies": 1.0}
    assert summed([RECORD], HONEST)["cut_epochs_after_checkpoint"] == 0.0
