"""What spoils a trial from outside, and what is its treatment's own doing, on both sides of every limit."""

from dataclasses import replace

import pytest

from pgassay.lab.checks import CLOCK_DRIFT_NS_MAX, FOREIGN_SHARE_MAX, FOREIGN_WRITE_BYTES_MIN, STEAL_SHARE_MAX, Evidence
from pgassay.lab.checks import judge as judge_evidence
from pgassay.record.values import Status

SOUND = Evidence(
    problems={},
    server_alive=True,
    window_monotonic_ns=8 * 10**9,
    window_wall_ns=8 * 10**9,
    steal_share=0.0,
    foreign_cpu_share=0.1,
    foreign_write_share=0.1,
    device_written_bytes=1e9,
    wanted_ns=8 * 10**9,
)


def _codes(**changes: object) -> tuple[Status, list[str]]:
    status, reasons = judge_evidence(replace(SOUND, **changes))  # type: ignore[arg-type]
    return status, [reason.code for reason in reasons]


def test_a_sound_trial_is_valid() -> None:
    assert _codes() == (Status.VALID, [])


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"steal_share": STEAL_SHARE_MAX + 0.01}, "steal"),
        ({"foreign_cpu_share": FOREIGN_SHARE_MAX + 0.01}, "foreign_cpu"),
        ({"foreign_write_share": FOREIGN_SHARE_MAX + 0.01}, "foreign_writes"),
        ({"window_wall_ns": 8 * 10**9 + CLOCK_DRIFT_NS_MAX + 1}, "clock_jump"),
        ({"window_wall_ns": 8 * 10**9 - CLOCK_DRIFT_NS_MAX - 1}, "clock_jump"),
    ],
)
def test_causes_outside_make_a_trial_invalid(changes: dict[str, object], code: str) -> None:
    assert _codes(**changes) == (Status.INVALID, [code])


@pytest.mark.parametrize(
    "changes",
    [
        {"steal_share": STEAL_SHARE_MAX},
        {"foreign_cpu_share": FOREIGN_SHARE_MAX},
        {"foreign_write_share": FOREIGN_SHARE_MAX},
        {"foreign_write_share": 0.9, "device_written_bytes": float(FOREIGN_WRITE_BYTES_MIN)},
        {"foreign_cpu_share": 0.99, "foreign_write_share": 0.99, "foreign_share_max": 1.0},
        {"window_wall_ns": 8 * 10**9 + CLOCK_DRIFT_NS_MAX},
        {"steal_share": None, "foreign_cpu_share": None, "foreign_write_share": None},
    ],
)
def test_what_stays_within_its_limit_spoils_nothing(changes: dict[str, object]) -> None:
    assert _codes(**changes) == (Status.VALID, [])


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"problems": {"aborted": "client 0 aborted"}}, "aborted"),
        ({"server_alive": False}, "server_died"),
        ({"mismatches": {"server.work_mem": "asked for 4MB, the running system says 8MB"}}, "read_back"),
        ({"window_monotonic_ns": 7 * 10**9, "window_wall_ns": 7 * 10**9}, "short"),
    ],
)
def test_a_treatment_s_own_failure_is_an_outcome(changes: dict[str, object], code: str) -> None:
    assert _codes(**changes) == (Status.OUTCOME, [code])


def test_an_own_failure_outweighs_noise_and_both_are_named() -> None:
    assert _codes(problems={"aborted": "x"}, steal_share=0.9) == (Status.OUTCOME, ["aborted", "steal"])
