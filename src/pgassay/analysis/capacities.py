"""What stops a load, with the numbers: which resource is in full use, and what its backends wait for.

The utilisation law: a resource that can do C a second and is asked for D a transaction serves at most C / D
transactions a second (Denning and Buzen, ACM Computing Surveys 1978). A resource in full use bounds the rate whatever
waits behind it; with none in full use, the time goes where most of the load's backends are seen waiting (sampled). Each
candidate keeps its numbers, so that a reader can disagree.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from pgassay.analysis.numbers import per_cent

OVERUSED = 1.05
"""Beyond this share in use a capacity is understated: what was measured of it, at another time or load, was too low."""


class Resource(StrEnum):
    """What a drive can do, with the unit of its capacity a second."""

    FLUSHES = "flushes"
    """Writes of a block, each flushed before the next."""
    WRITTEN_BYTES = "written_bytes"
    """Bytes written in sequence."""
    READS = "reads"
    """Random reads of a block."""


@dataclass(frozen=True)
class MeasuredCapacity:
    """A capacity: `per_s` in the resource's unit, and where it is from, as a report prints it."""

    resource: Resource
    per_s: float
    source: str


FULL = 0.9
"""A resource in use for this share of the window has nothing left to give: the rest is scheduling and ramps."""
CAPPED = 0.75
"""A bucket makes up for pauses: it held back for 0.86 of a window in which 2,990 of 3,000 I/Os a second passed."""
BELIEVABLE = 2.0
"""A resource in use for more than this was busy, or asked otherwise, when it was measured: it decides nothing."""
MOST = 0.5
"""Waits of this share of the backends' time in service are where the time goes."""
SOME = 0.02
"""Where backends wait for flushes for less of their time, others flush the device, or they flush at leisure."""
CLIENT_MOST = 0.6
"""Backends that wait for the client for this share of their time could do more than they are asked for."""


class Cause(StrEnum):
    """What keeps the transaction rate from rising; `undecided` where nothing is in full use."""

    CPU = "CPU"
    DRIVE_CAP = "drive cap"
    LOCK = "lock"
    WAL_FLUSH = "WAL flush"
    READ_LATENCY = "read latency"
    WRITE_BANDWIDTH = "write bandwidth"
    CLIENT = "client"
    NETWORK = "network"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Evidence:
    """What was measured of one arm: medians over its trials, None where unknown. Shares are of 1, waits of all samples.

    `cores` are those that the server may use, `threads` the load program's; `costs` per transaction by response name.
    """

    per_s: float
    waits: Mapping[str, float | None] = field(default_factory=dict)
    costs: Mapping[str, float | None] = field(default_factory=dict)
    cores: float | None = None
    threads: int | None = None
    rate_asked: float | None = None
    busy: float | None = None
    foreign: float | None = None
    capacities: Sequence[MeasuredCapacity] = ()
    clients: int | None = None
    """Connections of the load, each of which waits for one answer at a time."""
    round_trip_us: float | None = None
    """Between the load's host and the server; None where there is no network between them."""
    trips: float | None = None
    """Of a transaction."""
    caps: Mapping[str, float | None] = field(default_factory=dict)
    """Shares of the window in which a volume's caps let nothing pass (`iops`, `throughput`), and in which it had no
    credits for a burst (`no_credit`); None where it has no such cap."""
    timing: str = ""
    """What the volume is called."""
    apart: bool = False
    """Has the load's program a machine of its own, so that its CPU is not taken from the server's?"""


@dataclass(frozen=True)
class Candidate:
    """A cause with how strongly the numbers speak for it (1: all of it) and whether that decides."""

    cause: Cause
    strength: float
    decides: bool
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Diagnosis:
    """The cause, a sentence, and every candidate from the strongest on."""

    cause: Cause
    text: str
    candidates: tuple[Candidate, ...]
    missing: tuple[str, ...]


def diagnose(evidence: Evidence) -> Diagnosis:
    """Name the bottleneck of one arm: the strongest candidate that decides, else `undecided` with the closest one."""
    own = _own_cpu(evidence)
    saturated = own is not None and own >= FULL
    found = list(_waiting(evidence, saturated))
    waits_decide = any(each.decides for each in found)
    cpu, network = _cpu(evidence, own, waits_decide), _network(evidence, saturated, waits_decide)
    client = _client(evidence, cpu, 0.0 if network is None else network.strength)
    found += [each for each in (cpu, network, client, _drive_cap(evidence)) if each is not None]
    # What waits for a drive at its cap waits because of the cap.
    candidates = sorted(
        found, key=lambda each: (each.decides, each.cause is Cause.DRIVE_CAP, each.strength), reverse=True
    )
    missing = tuple(_missing(evidence))
    deciding = [each for each in candidates if each.decides]
    if not deciding:
        closest = f"; closest: {candidates[0].cause}, {candidates[0].evidence[0]}" if candidates else ""
        return Diagnosis(Cause.UNDECIDED, f"undecided: nothing is in full use{closest}", tuple(candidates), missing)
    first = deciding[0]
    text = f"{first.cause}: {'; '.join(first.evidence)}"
    if len(deciding) > 1:
        text += f" (next: {deciding[1].cause}, {deciding[1].evidence[0]})"
    return Diagnosis(first.cause, text, tuple(candidates), missing)


_WAITS: Mapping[Cause, tuple[tuple[str, ...], str]] = {
    Cause.LOCK: (("lock", "lwlock"), "for locks"),
    Cause.WAL_FLUSH: (("wal_flush",), "for WAL to be written and flushed"),
    Cause.READ_LATENCY: (("data_read",), "for data to be read"),
    Cause.WRITE_BANDWIDTH: (("data_write",), "for data to be written"),
}
_USES: Mapping[Resource, tuple[Cause, str, str]] = {
    Resource.FLUSHES: (Cause.WAL_FLUSH, "disk_flushes_per_transaction", "flushing the device"),
    Resource.WRITTEN_BYTES: (
        Cause.WRITE_BANDWIDTH, "disk_written_bytes_per_transaction", "writing to the device",
    ),
    Resource.READS: (Cause.READ_LATENCY, "disk_reads_per_transaction", "reading from the device"),
}  # fmt: skip
"""What waits for each resource, the cost of a transaction that draws on it, and how that is called."""


def _waiting(evidence: Evidence, saturated: bool) -> Iterator[Candidate]:
    """A candidate for each kind of wait and its resource. A saturated CPU makes queues that look like waits."""
    client = evidence.waits.get("client") or 0.0
    for cause, (kinds, words) in _WAITS.items():
        shares = [share for kind in kinds if (share := evidence.waits.get(kind)) is not None]
        said: list[str] = []
        strength, decides = 0.0, False
        if shares:
            in_service = sum(shares) / (1.0 - client) if client < 1.0 else 0.0
            strength, decides = in_service, in_service >= MOST and not saturated and client < CLIENT_MOST
            said.append(f"backends wait {words} {per_cent(in_service)} of their time in service")
        idle = cause is Cause.WAL_FLUSH and bool(shares) and strength < SOME
        for capacity in evidence.capacities:
            stopped, response, name = _USES[capacity.resource]
            cost = evidence.costs.get(response)
            if stopped is not cause or cost is None or not (0.0 < capacity.per_s < inf):
                continue
            used, source = cost * evidence.per_s / capacity.per_s, capacity.source
            believable = used <= BELIEVABLE and not idle
            if believable:
                strength, decides = max(strength, min(1.0, used)), decides or used >= FULL
            if used <= OVERUSED:
                said.append(f"{per_cent(min(used, 1.0))} of what {name} can do is in use ({source})")
            else:
                said.append(
                    f"the load uses {used:.2g} times the capacity that was measured of {name} ({source}), so that"
                    f" figure is too low{'' if believable else ' and decides nothing'}"
                )
        if said:
            yield Candidate(cause, strength, decides, tuple(said))


def _drive_cap(evidence: Evidence) -> Candidate | None:
    """A volume whose rate is capped by its contract; the cap that holds longer first."""
    held = [(share, name) for name in ("iops", "throughput") if (share := evidence.caps.get(name)) is not None]
    if not held:
        return None
    share, name = max(held)
    what = "IOPS" if name == "iops" else "throughput"
    said = f"stopped by the drive's {what} ({evidence.timing}), {per_cent(share)} of the window"
    return Candidate(Cause.DRIVE_CAP, min(1.0, share), share >= CAPPED, (said,))


def _own_cpu(evidence: Evidence) -> float | None:
    """The share of its cores that the server uses, with the load's program where that runs on them, too."""
    sharing = ("server",) if evidence.apart else ("server", "client")
    parts = [evidence.costs.get(f"{who}_cpu_us_per_transaction") for who in sharing]
    known = [part for part in parts if part is not None]
    if not known or evidence.cores is None or evidence.cores <= 0.0:
        return None
    return sum(known) * evidence.per_s / (evidence.cores * 1e6)


def _cpu(evidence: Evidence, own: float | None, waits_decide: bool) -> Candidate | None:
    """In full use by ourselves, or by all together while no wait holds the backends.

    A program that is starved of the CPU lets its backends wait for it, so their waits for the client excuse nothing.
    """
    on_cpu, client = evidence.waits.get("on_cpu"), evidence.waits.get("client") or 0.0
    whole = evidence.busy is not None and evidence.busy >= FULL and not waits_decide
    decides = whole or (own is not None and own >= FULL)
    said = []
    if own is not None:
        server = evidence.costs.get("server_cpu_us_per_transaction") or 0.0
        share = server * evidence.per_s / ((evidence.cores or 1.0) * 1e6)
        both = f"server and load program use {per_cent(own)} of {evidence.cores:g} cores, the server {per_cent(share)}"
        said.append(f"the server uses {per_cent(share)} of {evidence.cores:g} cores" if evidence.apart else both)
    if evidence.busy is not None:
        said.append(f"the machine's processors are {per_cent(evidence.busy)} busy")
    if evidence.foreign:
        said.append(f"other programs take {per_cent(evidence.foreign)}")
    if on_cpu is not None and client < 1.0:
        said.append(f"backends have or want a CPU {per_cent(on_cpu / (1.0 - client))} of their time in service")
    if not said or (own is None and evidence.busy is None):
        return None
    full = max(own or 0.0, evidence.busy or 0.0)
    return Candidate(Cause.CPU, min(1.0, full if decides else own or 0.0), decides, tuple(said))


def _network(evidence: Evidence, saturated: bool, waits_decide: bool) -> Candidate | None:
    """What a client's time is spent on while its statements and their answers are on their way.

    By the round trip on an idle connection: a network in full use takes longer, so this is the least that it takes.
    """
    trip_us, trips, clients = evidence.round_trip_us, evidence.trips, evidence.clients
    if trip_us is None or trips is None or not clients:
        return None
    used = min(1.0, trips * trip_us * evidence.per_s / (clients * 1e6))
    said = f"{trips:.3g} round trips of {trip_us:.3g} us a transaction take {per_cent(used)} of the clients' time"
    return Candidate(Cause.NETWORK, used, used >= MOST and not saturated and not waits_decide, (said,))


def _client(evidence: Evidence, cpu: Candidate | None, on_the_way: float) -> Candidate | None:
    """The load program is the limit: its threads are busy, its rate is met, or backends wait for it on an idle CPU.

    They wait as long while an answer is on its way (a share of the clients' time), which is the network's doing.
    """
    said = []
    strength, decides = 0.0, False
    program = evidence.costs.get("client_cpu_us_per_transaction")
    if program is not None and evidence.threads:
        used = program * evidence.per_s / (evidence.threads * 1e6)
        threads = "its one thread's" if evidence.threads == 1 else f"its {evidence.threads} threads'"
        said.append(f"the load program uses {per_cent(used)} of {threads} time")
        strength, decides = min(1.0, used), used >= FULL
    asked = evidence.rate_asked
    if asked and evidence.per_s >= (1.0 - 0.05) * asked:
        said.append(f"the rate of {asked:g} that was asked for is met")
        strength, decides = 1.0, True
    waits = evidence.waits.get("client")
    if waits is not None:
        said.append(f"backends wait for the client {per_cent(waits)} of their time")
        idle = cpu is None or not cpu.decides
        its_own = max(0.0, waits - on_the_way)
        strength, decides = max(strength, its_own), decides or (its_own >= CLIENT_MOST and idle)
    return Candidate(Cause.CLIENT, strength, decides, tuple(said)) if said else None


def _missing(evidence: Evidence) -> Iterator[str]:
    without = evidence.caps.get("no_credit")
    if without is not None and without < SOME:
        yield f"the credits of {evidence.timing} lasted for the whole window: its speed without them was not measured"
    elif without is not None and without <= 1.0 - SOME:
        yield (
            f"the credits of {evidence.timing} ran out: there were none for {per_cent(without)} of the window, which is"
            " not one regime; a longer warm-up or fewer credits make it one"
        )
    if all(share is None for share in evidence.waits.values()):
        yield "waits were not sampled"
    if evidence.cores is None:
        yield "the record does not say how many cores the server may use"
    if not evidence.capacities:
        yield "what the disk can do was not measured: pgassay run disk, then --disk RUN"
