"""Power cuts during a window: what each finds is told, all is given back, the load's log has the last word."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pgassay.bench.crash_states import CrashReport, CrashState, CrashWish
from pgassay.bench.errors import ClusterError, DamagedError, DriveError, QueryError
from pgassay.bench.load import LedgerState
from pgassay.lab import power_cuts
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.power_cuts import PowerCuts, judge, responses, summed
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.record.power_cuts import CutRecord
from pgassay.testing.fakes.clock import FakeClock

CUT_NS = 10**12
RECORD = CutRecord(1, CUT_NS, 0, "all", 0, 1, 1, 1, 0, 0.5, 9.0, "sound", recovery_ms=5.0)
EARLIER = (CUT_NS - 10**9, True)


class Drive:
    """Cuts as planned: None for a crash state, an error to raise; `done` is set when the last was discarded."""

    def __init__(self, place: Path, plan: Sequence[Exception | None], damage: Sequence[bool] = ()) -> None:
        self.place = place
        self.plan = list(plan)
        self.damage = list(damage)
        self.wishes: list[CrashWish] = []
        self.open = 0
        self.done = threading.Event()

    def cut(self, directory: Path, wish: CrashWish) -> CrashState:
        self.wishes.append(wish)
        fault = self.plan[len(self.wishes) - 1]
        if fault is not None:
            raise fault
        self.open += 1
        self.place.mkdir(exist_ok=True)
        (self.place / "postmaster.pid").write_text("1\n")
        number = len(self.wishes)
        return CrashState(self.place, CrashReport(number, CUT_NS, 0.5, number, 1, 2, 1, 1, None, ((0, 2, 1),)))

    def discard_cut(self, *, check: bool = True) -> None:
        self.open = 0
        if len(self.wishes) == len(self.plan):
            self.done.set()
        if self.damage and self.damage[len(self.wishes) - 1]:
            raise DamagedError("the file system is damaged")


class Server:
    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = answers
        self.stopped = False

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return []

    def log_text(self) -> str:
        return "one\ntwo"

    def stop(self, *, immediately: bool = False) -> None:
        self.stopped = True


class Installation:
    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault
        self.servers: list[Server] = []

    def start(self, directory: Path, settings: Mapping[str, str], sockets: Path) -> Server:
        assert not (directory / "postmaster.pid").exists(), "it names a process that a reboot would have ended"
        if self.fault is not None:
            raise self.fault
        self.servers.append(Server({}))
        return self.servers[-1]


class Load:
    def __init__(self, state: LedgerState | Exception) -> None:
        self.state = state

    def ledger_state(self, server: Any, seed: int) -> LedgerState:
        if isinstance(self.state, Exception):
            raise self.state
        return self.state

    def acknowledged(self, output: Path) -> Mapping[int, Sequence[tuple[int, bool]]]:
        return {0: [EARLIER]}


def arm(drive: Drive, installation: Installation, load: Load, cuts: int) -> ResolvedArm:
    options = PgbenchOptions.from_levels({"script": "ledger", "cuts": str(cuts)})
    site = SimpleNamespace(clock=FakeClock(), socket_directory=Path("/s"))
    made = SimpleNamespace(
        drive=drive, installation=installation, load=load, settings={}, site=site, setup=SimpleNamespace(load=options)
    )
    return cast(ResolvedArm, made)


SOUND_STATE = LedgerState({0: (1, 1)}, (5, 5, 5, 5))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power_cuts, "_AFTER_S", 0.0)
    monkeypatch.setattr(power_cuts, "_PAUSE_S", 0.0)


def made(
    place: Path,
    plan: Sequence[Exception | None],
    *,
    fault: Exception | None = None,
    state: LedgerState | Exception = SOUND_STATE,
    damage: Sequence[bool] = (),
) -> tuple[Sequence[CutRecord], Drive, Installation]:
    drive, installation = Drive(place / "crash", plan, damage), Installation(fault)
    cuts = PowerCuts(arm(drive, installation, Load(state), len(plan)), Path("/clone"), seed=3)
    cuts.start()
    assert drive.done.wait(60)
    cuts.stop()
    return cuts.judged(Path("/output")), drive, installation


def test_sound_cuts_are_drawn_in_turn_and_given_back(tmp_path: Path) -> None:
    found, drive, installation = made(tmp_path, [None] * 7)
    assert [cut.verdict for cut in found] == ["sound"] * 7
    assert [wish.draw for wish in drive.wishes[:6]] == [draw for draw, _ in power_cuts.PLAN]
    assert len({wish.seed for wish in drive.wishes}) == 7
    assert all(server.stopped for server in installation.servers)
    assert drive.open == 0
    assert all(cut.ledger and cut.recovery_ms is not None for cut in found)
    assert [cut.amcheck for cut in found] == [True, False, False, False, False, True, False]


@pytest.mark.parametrize(
    ("message", "verdict"),
    [
        ("server did not start: invalid page in block 11 of relation base/5/16396", "damaged_page"),
        ("server did not start: could not locate a valid checkpoint record", "no_recovery"),
        ("server was not ready after 300 s", "no_recovery"),
    ],
)
def test_a_server_that_does_not_start_is_damage_with_its_words(tmp_path: Path, message: str, verdict: str) -> None:
    found, drive, _ = made(tmp_path, [None, None], fault=ClusterError(message))
    assert [(cut.verdict, cut.detail) for cut in found] == [(verdict, message)] * 2
    assert drive.open == 0


def test_a_page_that_cannot_be_read_is_damage_and_the_server_is_stopped(tmp_path: Path) -> None:
    found, _, installation = made(tmp_path, [None], state=QueryError("invalid page in block 3"))
    assert (found[0].verdict, found[0].evidence) == ("damaged_page", "one\ntwo")
    assert installation.servers[0].stopped


def test_sums_that_differ_are_half_a_transaction(tmp_path: Path) -> None:
    found, *_ = made(tmp_path, [None], state=LedgerState({0: (1, 1)}, (5, 4, 5, 5)))
    assert found[0].verdict == "half_transaction"
    assert "accounts 4" in found[0].detail


def test_a_damaged_file_system_is_damage_before_the_mount_and_after_the_server(tmp_path: Path) -> None:
    found, *_ = made(tmp_path, [DamagedError("cannot be mounted"), None, None], damage=[False, True, False])
    assert [cut.verdict for cut in found] == ["damaged_filesystem", "damaged_filesystem", "sound"]


def test_what_goes_wrong_with_the_drive_itself_is_a_fault_of_the_bench(tmp_path: Path) -> None:
    with pytest.raises(DriveError, match="silent"):
        made(tmp_path, [DriveError("silent")])


def test_the_log_of_the_load_tells_lost_commits() -> None:
    lost = judge(RECORD, LedgerState({}, ()), {0: [EARLIER]}, 0.0)
    assert (lost.verdict, lost.lost_commits, lost.loss_ms) == ("lost_commits", 1, 1000.0)
    allowed = judge(RECORD, LedgerState({}, ()), {0: [EARLIER]}, 1500.0)
    assert (allowed.verdict, allowed.loss_ms) == ("sound", 1000.0)
    hole = judge(RECORD, LedgerState({0: (1, 2)}, ()), {0: [EARLIER, EARLIER]}, 1500.0)
    assert hole.verdict == "lost_commits", "what follows a lost commit must be lost with it"
    invented = judge(RECORD, LedgerState({0: (9, 9)}, ()), {0: [EARLIER]}, 0.0)
    assert invented.verdict == "commits_never_sent"


def test_what_was_found_first_stays() -> None:
    torn = replace(RECORD, verdict="damaged_page")
    assert judge(torn, LedgerState({}, ()), {0: [EARLIER]}, 0.0).verdict == "damaged_page"
    assert judge(RECORD, None, {0: [EARLIER]}, 0.0) is RECORD


def test_responses_are_there_only_where_cuts_are_asked_for() -> None:
    assert responses([PgbenchOptions()]) == ()
    declared = {each.name for each in responses([PgbenchOptions.from_levels({"cuts": "3"})])}
    assert declared == set(summed([RECORD])) == set(summed([]))
    found = summed([RECORD, replace(RECORD, verdict="no_recovery", recovery_ms=None)])
    assert (found["power_cuts"], found["unsafe_cuts"], found["crash_recovery_ms"]) == (2.0, 1.0, 5.0)
