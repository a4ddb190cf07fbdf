"""What makes a trial invalid, what is its treatment's own outcome, and which outweighs the other."""

from dataclasses import replace

import pytest

from pgassay.lab.checks import Evidence, judge
from pgassay.study.responses import Status

SECOND_NS = 10**9
QUIET = Evidence(
    problems={},
    server_alive=True,
    window_monotonic_ns=60 * SECOND_NS,
    window_wall_ns=60 * SECOND_NS,
    steal_share=0.01,
    foreign_cpu_share=0.05,
    wanted_ns=60 * SECOND_NS,
)


def codes(evidence: Evidence) -> tuple[Status, list[str]]:
    status, reasons = judge(evidence)
    assert all(reason.detail for reason in reasons)
    return status, [reason.code for reason in reasons]


def test_a_quiet_trial_is_valid() -> None:
    assert codes(QUIET) == (Status.VALID, [])
    assert codes(replace(QUIET, steal_share=None, foreign_cpu_share=None, wanted_ns=None)) == (Status.VALID, [])


def test_causes_from_outside_make_it_invalid() -> None:
    assert codes(replace(QUIET, steal_share=0.3)) == (Status.INVALID, ["steal"])
    assert codes(replace(QUIET, foreign_cpu_share=0.6)) == (Status.INVALID, ["foreign_cpu"])
    assert codes(replace(QUIET, window_wall_ns=61 * SECOND_NS)) == (Status.INVALID, ["clock_jump"])
    assert codes(replace(QUIET, window_wall_ns=-SECOND_NS)) == (Status.INVALID, ["clock_jump"])
    assert codes(replace(QUIET, window_wall_ns=60 * SECOND_NS + SECOND_NS // 3)) == (Status.VALID, [])


def test_cores_that_slowed_down_to_cool_spoil_it() -> None:
    assert codes(replace(QUIET, thermal_throttles=3.0)) == (Status.INVALID, ["throttled"])
    assert codes(replace(QUIET, thermal_throttles=0.0)) == (Status.VALID, [])
    assert codes(replace(QUIET, thermal_throttles=None)) == (Status.VALID, [])


def test_what_slows_a_machine_down_is_no_cause_where_damage_is_counted() -> None:
    busy = replace(QUIET, foreign_cpu_share=0.9, steal_share=0.9, thermal_throttles=3.0, untimed=True)
    assert codes(busy) == (Status.VALID, [])
    jumped = replace(busy, window_wall_ns=busy.window_monotonic_ns + 10**9)
    assert codes(jumped) == (Status.INVALID, ["clock_jump"])
    assert codes(replace(busy, untimed=False))[0] is Status.INVALID


def test_foreign_writes_spoil_it_when_they_are_most_and_many() -> None:
    mib = 1 << 20
    much = replace(QUIET, foreign_write_share=0.6, device_written_bytes=1000.0 * mib)
    assert codes(much) == (Status.INVALID, ["foreign_writes"])
    assert codes(replace(much, foreign_write_share=0.2)) == (Status.VALID, [])
    assert codes(replace(much, device_written_bytes=50.0 * mib)) == (Status.VALID, [])
    assert codes(replace(much, device_written_bytes=None)) == (Status.VALID, [])


def test_a_machine_known_to_be_busy_spoils_nothing_by_what_others_do() -> None:
    busy = replace(QUIET, foreign_cpu_share=0.99, foreign_write_share=0.99, device_written_bytes=1e12)
    assert codes(busy) == (Status.INVALID, ["foreign_cpu", "foreign_writes"])
    assert codes(replace(busy, foreign_share_max=1.0)) == (Status.VALID, [])


def test_what_a_treatment_does_to_itself_is_an_outcome() -> None:
    assert codes(replace(QUIET, problems={"aborted": "client 3 aborted"})) == (Status.OUTCOME, ["aborted"])
    assert codes(replace(QUIET, server_alive=False)) == (Status.OUTCOME, ["server_died"])
    assert codes(replace(QUIET, mismatches={"server.huge_pages": "asked for on"})) == (Status.OUTCOME, ["read_back"])


@pytest.mark.parametrize(("seconds", "status"), [(56, Status.OUTCOME), (58, Status.VALID), (70, Status.VALID)])
def test_a_window_that_ended_early_is_an_outcome(seconds: int, status: Status) -> None:
    length = seconds * SECOND_NS
    assert codes(replace(QUIET, window_monotonic_ns=length, window_wall_ns=length))[0] is status


def test_a_named_failure_explains_a_short_window() -> None:
    short = replace(QUIET, window_monotonic_ns=SECOND_NS, window_wall_ns=SECOND_NS)
    assert codes(replace(short, problems={"aborted": "gone"})) == (Status.OUTCOME, ["aborted"])


def test_a_failure_of_its_own_outweighs_noise_from_outside_and_both_are_told() -> None:
    noisy = replace(QUIET, steal_share=0.9, problems={"aborted": "gone"})
    assert codes(noisy) == (Status.OUTCOME, ["aborted", "steal"])
