"""Planted bottlenecks, one for each cause, and cases where no honest verdict is possible."""

from collections.abc import Mapping
from dataclasses import replace
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.analysis.capacities import Cause, Evidence, MeasuredCapacity, Resource, diagnose

FLUSHES = MeasuredCapacity(Resource.FLUSHES, 2000.0, "measured")
WRITES = MeasuredCapacity(Resource.WRITTEN_BYTES, 500e6, "measured")


def waits(**shares: float) -> Mapping[str, float | None]:
    kinds = ("on_cpu", "client", "lock", "wal_flush", "data_read", "data_write", "lwlock")
    return {kind: shares.get(kind, 0.0) for kind in kinds}


def costs(server_us: float, client_us: float = 20.0, **rest: float) -> Mapping[str, float | None]:
    return {"server_cpu_us_per_transaction": server_us, "client_cpu_us_per_transaction": client_us, **rest}


PLANTED = {
    Cause.CPU: Evidence(40_000.0, waits(on_cpu=0.5, client=0.5), costs(35.0, 13.0), 2.0, 8, busy=0.99),
    Cause.LOCK: Evidence(1500.0, waits(lock=0.85, on_cpu=0.05, client=0.1), costs(300.0), 2.0, 20, busy=0.5),
    Cause.WAL_FLUSH: Evidence(800.0, waits(wal_flush=0.8, client=0.1, on_cpu=0.1), costs(150.0), 2.0, 4, busy=0.2),
    Cause.READ_LATENCY: Evidence(300.0, waits(data_read=0.9, on_cpu=0.1), costs(90.0), 2.0, 4, busy=0.1),
    Cause.WRITE_BANDWIDTH: Evidence(300.0, waits(data_write=0.7, on_cpu=0.2), costs(90.0), 2.0, 4, busy=0.1),
    Cause.CLIENT: Evidence(20_000.0, waits(client=0.85, on_cpu=0.15), costs(30.0, 49.0), 8.0, 1, busy=0.2),
    Cause.NETWORK: Evidence(
        1100.0,
        waits(client=0.9, on_cpu=0.1),
        costs(60.0),
        4.0,
        8,
        busy=0.05,
        clients=8,
        round_trip_us=1000.0,
        trips=7.0,
    ),
}


@pytest.mark.parametrize("cause", PLANTED)
def test_a_planted_bottleneck_is_named_with_numbers(cause: Cause) -> None:
    found = diagnose(PLANTED[cause])
    assert found.cause is cause
    assert "%" in found.text
    assert found.candidates[0].cause is cause
    assert all(candidate.evidence for candidate in found.candidates)


def test_nothing_in_full_use_is_undecided() -> None:
    found = diagnose(Evidence(1000.0, waits(on_cpu=0.4, client=0.3, wal_flush=0.3), costs(300.0), 4.0, 4, busy=0.3))
    assert found.cause is Cause.UNDECIDED
    assert "closest" in found.text


def test_a_rate_that_is_met_is_the_clients_doing() -> None:
    found = diagnose(Evidence(500.0, waits(client=0.4, on_cpu=0.3), costs(300.0), 4.0, 4, rate_asked=500.0, busy=0.3))
    assert found.cause is Cause.CLIENT
    assert "asked for is met" in found.text
    behind = Evidence(400.0, waits(client=0.4, on_cpu=0.3), costs(300.0), 4.0, 4, rate_asked=500.0, busy=0.3)
    assert diagnose(behind).cause is Cause.UNDECIDED


def test_a_starved_program_is_no_lazy_client() -> None:
    """Backends wait for a program that gets no CPU, since others have it."""
    found = diagnose(Evidence(5000.0, waits(client=0.85, on_cpu=0.1), costs(35.0), 2.0, 4, busy=0.99, foreign=0.6))
    assert found.cause is Cause.CPU
    assert "other programs take 60 %" in found.text


def test_queues_for_a_saturated_cpu_are_no_locks() -> None:
    found = diagnose(Evidence(10_000.0, waits(lwlock=0.6, on_cpu=0.4), costs(170.0, 22.0), 2.0, 16, busy=0.99))
    assert found.cause is Cause.CPU


def test_capacities_of_the_disk_decide_without_waits() -> None:
    flushed = Evidence(
        950.0, {}, costs(100.0, disk_flushes_per_transaction=2.0), 4.0, 8, busy=0.3, capacities=(FLUSHES,)
    )
    found = diagnose(flushed)
    assert found.cause is Cause.WAL_FLUSH
    assert "95 % of what flushing the device can do" in found.text
    assert "waits were not sampled" in found.missing
    written = Evidence(
        10_000.0, waits(on_cpu=0.6), costs(100.0, disk_written_bytes_per_transaction=48_000.0), 4.0, 8, busy=0.3,
        capacities=(WRITES,),
    )  # fmt: skip
    assert diagnose(written).cause is Cause.WRITE_BANDWIDTH
    over = MeasuredCapacity(Resource.FLUSHES, 1000.0, "measured on a busy machine")
    assert "so that figure is too low" in diagnose(replace(flushed, capacities=(over,))).text
    unknown = MeasuredCapacity(Resource.WRITTEN_BYTES, nan, "not measured")
    assert diagnose(Evidence(1.0, {}, costs(1.0), 4.0, 8, capacities=(unknown,))).cause is Cause.UNDECIDED


def test_nothing_measured_is_undecided_and_says_what_is_missing() -> None:
    found = diagnose(Evidence(100.0))
    assert found.cause is Cause.UNDECIDED
    assert len(found.missing) == 3
    assert found.candidates == ()


_SHARE = st.one_of(st.none(), st.floats(0.0, 1.0))


@given(
    st.floats(0.0, 1e6), st.dictionaries(st.sampled_from(list(waits())), _SHARE), _SHARE, _SHARE,
    st.one_of(st.none(), st.floats(0.1, 128.0)), st.one_of(st.none(), st.floats(0.0, 1e5)),
)  # fmt: skip
def test_any_evidence_gets_an_answer(
    per_s: float, seen: dict[str, float | None], busy: float | None, foreign: float | None, cores: float | None,
    server_us: float | None,
) -> None:  # fmt: skip
    cpu = {"server_cpu_us_per_transaction": server_us, "client_cpu_us_per_transaction": server_us}
    found = diagnose(Evidence(per_s, seen, cpu, cores, 4, busy=busy, foreign=foreign))
    assert (found.cause is Cause.UNDECIDED) == (not any(each.decides for each in found.candidates))
    assert all(each.strength >= 0.0 for each in found.candidates)


def test_a_capacity_that_is_used_several_times_over_was_measured_wrongly_and_decides_nothing() -> None:
    slow = MeasuredCapacity(Resource.FLUSHES, 100.0, "a disk study")
    evidence = Evidence(
        800.0, waits(wal_flush=0.2, client=0.4, on_cpu=0.4), costs(150.0, disk_flushes_per_transaction=1.0), 2.0, 4,
        busy=0.2, capacities=(slow,),
    )  # fmt: skip
    found = diagnose(evidence)
    assert found.cause is Cause.UNDECIDED
    flush = next(each for each in found.candidates if each.cause is Cause.WAL_FLUSH)
    assert flush.strength < 0.6
    assert any("8 times the capacity that was measured of flushing the device" in each for each in flush.evidence)
    assert any("too low and decides nothing" in each for each in flush.evidence)


def test_flushes_that_no_backend_waits_for_do_not_hold_a_load() -> None:
    """A load that only reads was said to be held by WAL flushes, by those that other servers made on the device."""
    evidence = Evidence(
        950.0, waits(wal_flush=0.0, client=0.5, on_cpu=0.4), costs(150.0, disk_flushes_per_transaction=2.0), 2.0, 4,
        busy=0.5, capacities=(FLUSHES,),
    )  # fmt: skip
    assert diagnose(evidence).cause is not Cause.WAL_FLUSH
    over = replace(evidence, capacities=(replace(FLUSHES, per_s=1400.0),))
    flush = next(each for each in diagnose(over).candidates if each.cause is Cause.WAL_FLUSH)
    assert not flush.decides
    assert any("too low and decides nothing" in each for each in flush.evidence)
    waited = replace(evidence, waits=waits(wal_flush=0.3, client=0.3, on_cpu=0.4))
    assert diagnose(waited).cause is Cause.WAL_FLUSH


def test_a_network_takes_from_the_client_what_is_on_its_way() -> None:
    far = PLANTED[Cause.NETWORK]
    found = diagnose(far)
    assert "7 round trips of 1e+03 us a transaction take 96 % of the clients' time" in found.text
    near = diagnose(replace(far, round_trip_us=30.0))
    assert near.cause is Cause.CLIENT, "with the same waits, and hardly a network, it is the program that is slow"
    assert diagnose(replace(far, trips=None)).cause is Cause.CLIENT, "unknown is not a network"
    assert diagnose(replace(far, waits=waits(lock=0.9, client=0.1))).cause is Cause.LOCK
    assert diagnose(replace(far, costs=costs(3600.0), busy=0.99)).cause is Cause.CPU


def test_a_client_apart_takes_no_cpu_from_the_server() -> None:
    beside = Evidence(10_000.0, waits(on_cpu=0.5, client=0.5), costs(100.0, 95.0), 2.0, 4, busy=0.5)
    assert diagnose(beside).cause is Cause.CPU
    apart = diagnose(replace(beside, apart=True))
    assert apart.cause is Cause.UNDECIDED
    assert any("the server uses 50 % of 2 cores" in each.evidence for each in apart.candidates)


def capped(**shares: float | None) -> Evidence:
    """Backends that wait for reads all the time, on a volume."""
    waiting = waits(data_read=0.99, on_cpu=0.01)
    return Evidence(1000.0, waiting, costs(100.0), 4.0, 4, caps=shares, timing="drive.timing = volume-3000-iops")


def test_a_volume_at_its_cap_stops_the_load_and_what_waits_for_it_comes_next() -> None:
    found = diagnose(capped(iops=0.99, throughput=0.2, no_credit=None))
    assert found.cause is Cause.DRIVE_CAP
    said = "drive cap: stopped by the drive's IOPS (drive.timing = volume-3000-iops), 99 % of the window (next: read"
    assert found.text.startswith(said)
    found = diagnose(capped(iops=0.1, throughput=1.0))
    assert "stopped by the drive's throughput (drive.timing = volume-3000-iops), 100 % of the window" in found.text
    assert diagnose(capped(iops=0.86)).cause is Cause.DRIVE_CAP, "ten clients on two busy cores, at 99.8 % of the cap"
    assert diagnose(capped(iops=0.6, throughput=0.2)).cause is Cause.READ_LATENCY, "it has something left to give"
    assert diagnose(capped(iops=None)).cause is Cause.READ_LATENCY


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "lasted for the whole window: its speed without them was not measured"),
        (0.4, "ran out: there were none for 40 % of the window, which is not one regime"),
        (1.0, None),
        (None, None),
    ],
)
def test_a_bucket_that_runs_empty_or_never_does_is_said(share: float | None, said: str | None) -> None:
    notes = [note for note in diagnose(capped(iops=0.99, no_credit=share)).missing if "credits" in note]
    assert len(notes) == (said is not None)
    assert said is None or said in notes[0]
