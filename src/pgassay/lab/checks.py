"""What makes a trial invalid, and what is its treatment's own outcome.

Only causes *outside* the treatment (steal, a hot CPU, a clock that jumped, other programs' writes, a drive in another
state than was kept) make a trial invalid: it is kept, named, left out and run again. Those that only slow a machine
down are no cause where the verdict counts damage by power cuts: there are fewer cuts then, and each is as true. What a
treatment does to itself (no space, a crash, failed transactions, an abort) is an outcome and is reported. Pure: the
readings come in as values.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pgassay.design import risk
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.notes import Notes
from pgassay.lab.process_memory import MEMORY
from pgassay.lab.site import FOREIGN_SHARE_MAX
from pgassay.record.values import Reason
from pgassay.study.responses import Status

STEAL_SHARE_MAX = 0.25
CLOCK_DRIFT_NS_MAX = 500_000_000
FOREIGN_WRITE_BYTES_MIN = 64 << 20
"""Fewer bytes than this hardly disturb a drive, whatever their share."""
SHORT_SHARE_MIN = 0.95


@dataclass(frozen=True)
class Evidence:
    """What the checks look at; None where it could not be read.

    Shares are of the machine's CPU time in the window (0 to 1), `foreign_write_share` of the bytes written to the
    drive; lengths are in ns. `problems` (code to detail) are the treatment's own, `mismatches` are levels that do not
    hold, by name. `wanted_ns` is how long the window was to last, None where the work was counted.
    """

    problems: Mapping[str, str]
    server_alive: bool
    window_monotonic_ns: int
    window_wall_ns: int
    steal_share: float | None = None
    foreign_cpu_share: float | None = None
    foreign_write_share: float | None = None
    device_written_bytes: float | None = None
    wanted_ns: int | None = None
    foreign_share_max: float = FOREIGN_SHARE_MAX
    thermal_throttles: float | None = None
    mismatches: Mapping[str, str] | None = None
    other_states: Mapping[str, str] | None = None
    """Of drives that did not start from the state that was kept for the trial: by name, in which respect."""
    counts_damage: bool = False
    """Is the verdict about what power cuts damaged, and not about speed?"""
    visitors: str = ""
    """Who else used a server that is not ours during the window."""
    client_lost: str = ""
    """What became of the load's host, where it has gone."""
    by_rounds: tuple[Reason, ...] | None = None
    """What disturbed too many rounds of an alternating block; None where the window is judged as a whole."""


def from_outside(evidence: Evidence) -> tuple[Reason, ...]:
    """Every cause outside the treatment that makes the trial invalid; empty if there is none."""
    changed = tuple(Reason("drive_state", f"{name}: {said}") for name, said in (evidence.other_states or {}).items())
    if evidence.by_rounds is not None:
        return (*changed, *evidence.by_rounds)
    drift_ns = abs(evidence.window_wall_ns - evidence.window_monotonic_ns)
    jumped = Reason("clock_jump", f"the wall clock jumped by {drift_ns / 1e9:.1f} s during the window")
    slowed = () if evidence.counts_damage else _slowed(evidence)
    visited = (Reason("other_clients", evidence.visitors),) if evidence.visitors else ()
    return (*changed, *visited, *slowed, *((jumped,) if drift_ns > CLOCK_DRIFT_NS_MAX else ()))


def _slowed(evidence: Evidence) -> tuple[Reason, ...]:
    """What made the machine slower than the treatment did."""
    found = []
    if evidence.steal_share is not None and evidence.steal_share > STEAL_SHARE_MAX:
        found.append(
            Reason("steal", f"the hypervisor took {evidence.steal_share:.0%} of the CPU time during the window")
        )
    if evidence.foreign_cpu_share is not None and evidence.foreign_cpu_share > evidence.foreign_share_max:
        found.append(
            Reason("foreign_cpu", f"other programs used {evidence.foreign_cpu_share:.0%} of the CPU during the window")
        )
    written, share = evidence.device_written_bytes, evidence.foreign_write_share
    if written and share and share > evidence.foreign_share_max and share * written > FOREIGN_WRITE_BYTES_MIN:
        found.append(
            Reason(
                "foreign_writes",
                f"{share:.0%} of what was written to the drive in the window was written by other programs",
            )
        )
    if evidence.thermal_throttles:
        found.append(
            Reason("throttled", f"cores slowed down to cool {evidence.thermal_throttles:.0f} times during the window")
        )
    return tuple(found)


def by_itself(evidence: Evidence) -> tuple[Reason, ...]:
    """Every failure because of the treatment's own settings; empty if there is none."""
    found = [Reason(code, detail) for code, detail in evidence.problems.items()]
    if not evidence.server_alive:
        found.append(Reason("server_died", "the server had died by the end of the window"))
    for name, detail in (evidence.mismatches or {}).items():
        found.append(Reason("read_back", f"{name}: {detail}"))
    wanted = evidence.wanted_ns
    if wanted and not found and evidence.window_monotonic_ns < SHORT_SHARE_MIN * wanted:
        length = evidence.window_monotonic_ns
        found.append(Reason("short", f"the load ended after {length / 1e9:.1f} s of {wanted / 1e9:.1f} s"))
    return tuple(found)


def judge(evidence: Evidence) -> tuple[Status, tuple[Reason, ...]]:
    """The trial's status with every reason. A treatment's own failure outweighs noise from outside.

    Of a window whose load nobody heard the end of, nothing is known, so nothing of it is the treatment's doing.
    """
    if evidence.client_lost:
        return Status.INVALID, (Reason("client_lost", evidence.client_lost),)
    own = by_itself(evidence)
    outside = from_outside(evidence)
    if own:
        return Status.OUTCOME, (*own, *outside)
    if outside:
        return Status.INVALID, outside
    return Status.VALID, ()


def evidence_of(arm: ResolvedArm, notes: Notes) -> Evidence:
    """What a trial's notes hold for the checks."""
    wanted_s, window = arm.setup.load.timed_s, notes.window
    mismatches = {}
    for bound in arm.bound:
        found = notes.read_back.get(bound.name)
        if found is not None and found != bound.level.canonical:
            asked = bound.level.canonical if bound.name == MEMORY else bound.level.typed  # a model's limit is larger
            mismatches[bound.name] = f"asked for {asked}, the running system says {found}"
    other_states = {}
    for name, trait in notes.traits.items():
        if not trait.holds and trait.of_state:
            other_states[name] = f"it started with {trait.found}, and what was kept for it had {trait.asked}"
        elif not trait.holds:
            mismatches[name] = f"asked for {trait.asked}, the drive says {trait.found}"
    return Evidence(
        problems=notes.problems,
        server_alive=notes.alive,
        window_monotonic_ns=window.length_monotonic_ns if window else 0,
        window_wall_ns=window.length_wall_ns if window else 0,
        steal_share=notes.responses.get("steal_share"),
        foreign_write_share=notes.responses.get("foreign_write_share"),
        device_written_bytes=notes.counters.get("diskstats.written_bytes"),
        foreign_cpu_share=notes.responses.get("foreign_cpu_share"),
        thermal_throttles=notes.counters.get("machine.thermal_throttles"),
        wanted_ns=wanted_s * 10**9 if wanted_s is not None and not notes.pairing else None,
        foreign_share_max=arm.site.foreign_share_max,
        mismatches=mismatches,
        other_states=other_states,
        counts_damage=arm.study.primary == risk.UNSAFE,
        visitors=notes.visitors,
        client_lost=notes.client_lost,
        by_rounds=notes.disturbed if notes.pairing else None,
    )
