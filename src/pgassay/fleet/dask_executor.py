"""The executor behind a Dask scheduler: a block is a task, a host is a worker with one thread.

Dask brings tasks to workers, and to another worker when one is lost; what it does not know is that two workers on one
machine are one host, and that hosts of several kinds make another question. That is asked before the first block.

A host's first block is longer, since its data are prepared in it; it is compared with the first blocks of other hosts.
Nothing is concluded about a late block: it is begun on a free host as well, and whichever comes home first counts. Only
where every host that could run it is held up many times as long does nobody wait any more.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import dask
from distributed import Client, Future, wait
from distributed.scheduler import KilledWorker

from pgassay import __version__
from pgassay.fleet import FleetError, worker
from pgassay.fleet.blocks import BlockOrder, Report
from pgassay.fleet.certificates import Address, Credentials, security
from pgassay.fleet.parcels import Arrived, Parcel, host_failed
from pgassay.lab.trial_state import HostState

LATE = 3.0
"""Times the usual length. A block whose trials were all disturbed and repeated takes twice as long as others."""

HANGS = 20.0
"""Times the usual length: a machine that slow measures nothing."""
HANGS_S = 600.0
"""And at least so long: short blocks are held up by things that end."""


@dataclass(eq=False)
class Pace:
    """Lengths of the blocks that have come home."""

    _first_s: dict[str, float] = field(default_factory=dict, init=False)
    _later_s: list[float] = field(default_factory=list, init=False)

    def ended(self, host: str, seconds: float) -> None:
        if host in self._first_s:
            self._later_s.append(seconds)
        else:
            self._first_s[host] = seconds

    def usual_s(self, host: str) -> float | None:
        """The median length of what this host has in hand; None where there is nothing to compare with."""
        lengths_s = self._later_s if host in self._first_s and self._later_s else list(self._first_s.values())
        return median(lengths_s) if lengths_s else None

    def late(self, host: str, seconds: float) -> bool:
        """Has this host had its block for far longer than blocks take?"""
        usual_s = self.usual_s(host)
        return usual_s is not None and seconds > LATE * usual_s

    def hangs(self, host: str, seconds: float) -> bool:
        """Has it had its block for so long that none is expected? Never before some host has brought one home."""
        usual_s = self.usual_s(host)
        return usual_s is not None and seconds > max(HANGS_S, HANGS * usual_s)


ORDER_BYTES = 64 << 20
"""More than any order has."""
ANSWER_S = 60.0
"""A scheduler that stands still keeps its connections, so that only a clock tells it from one that is slow."""
WAIT_S = 60.0
"""How long to wait for a scheduler, and for its workers."""
GONE_S = 300.0
"""A host that has been missing for so long is gone; a cable or a reboot takes less."""
_GIVEN_UP = 5
"""So many times Dask may give one block up, each time after it has lost four workers with it."""
_LOOK_S = 2.0
_OF_A_KIND = (
    ("cpu", "model"), ("cpu", "usable_processors"), ("memory", "total_bytes"), ("kernel", "release"),
    ("storage.data", "filesystem"), ("storage.data", "model"),
)  # fmt: skip
"""Facts by which hosts are of one kind. Memory may differ by what a kernel keeps of it."""
_POSTGRES = ("postgres", "version")
"""Another such fact, where the study does not say which PostgreSQL serves."""
_MEMORY_SHARE = 0.02

Work = Callable[[bytes], worker.Shipped]


@dataclass(frozen=True)
class Terms:
    """What the user allows of the hosts."""

    hosts: int
    shared_machine: bool = False
    mixed: bool = False
    own_postgres: bool = False
    """Does the study say which PostgreSQL serves?"""
    wait_s: float = WAIT_S
    spare: int = 0
    """Hosts beyond those that run blocks at once: they take over what is lost or late."""


@dataclass
class _Ordered:
    """A block that has not come home: what was ordered, and each worker that was asked."""

    order: BlockOrder
    futures: list[Future] = field(default_factory=list)


def connect(address: Address, credentials: Credentials | None, wait_s: float = WAIT_S) -> Client:
    """A client of the scheduler at `address`; raises `FleetError` where none answers."""
    with_tls = {} if credentials is None else {"security": security(credentials)}
    try:
        return Client(address.text, timeout=wait_s, set_as_default=False, **with_tls)
    except (OSError, TimeoutError) as error:
        raise FleetError(
            f"no scheduler answers at {address.text}: {str(error) or type(error).__name__}",
            "start it with dask scheduler (docs/fleet.md)",
        ) from None


def workers(client: Client) -> Mapping[str, Mapping[str, Any]]:
    """What the scheduler knows of each connected worker, by address; raises `OSError` where it does not answer.

    The scheduler itself is asked. What `Client.scheduler_info` gives is overwritten each few seconds by an answer
    without any worker, and on a busy machine that is what its caller gets.
    """
    said = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER_S)
    found: Mapping[str, Mapping[str, Any]] = said["workers"]
    return found


def names(client: Client) -> dict[str, str]:
    """The hosts that are connected, by address; raises `OSError` where the scheduler does not answer."""
    return {address: str(each["name"]) for address, each in workers(client).items()}


class DaskExecutor:
    """Workers of a scheduler; `order` makes the bytes that a worker gets of a block's order."""

    def __init__(
        self, client: Client, terms: Terms, order: Callable[[BlockOrder], bytes], work: Work = worker.work
    ) -> None:
        self._client = client
        self._terms = terms
        self._order = order
        self._work = work
        self._pending: dict[int, _Ordered] = {}
        self._pace = Pace()
        self._began: dict[str, tuple[str, float]] = {}
        """Of each task the worker that has it (none at first), and since when, by the monotonic clock."""
        self._failed: dict[int, dict[str, str]] = {}
        """Of each block the hosts that could not run it, and why."""
        self._given_up: Counter[int] = Counter()
        """How often Dask gave a block up."""
        self._out: dict[str, str] = {}
        """Hosts that could not do what others did, and why: they get no more blocks."""
        self._seen: dict[str, float] = {}
        """When each host was last there, by the monotonic clock."""

    @property
    def hosts(self) -> int:
        return self._terms.hosts

    def gather(self, tell: Callable[[], Mapping[str, Any]] = worker.facts) -> dict[str, Mapping[str, Any]]:
        """Wait for the hosts, and check them; returns their facts by name. Raises `FleetError`."""
        wanted, until = self._terms.hosts + self._terms.spare, time.monotonic() + self._terms.wait_s
        there = 0
        while True:
            with suppress(OSError):
                there = len(self._names())
            if there >= wanted:
                break
            if time.monotonic() > until:
                raise FleetError(
                    f"{there} of {wanted} hosts came within {self._terms.wait_s:.0f} s",
                    "start pgassay fleet worker on each, or ask for fewer --hosts",
                )
            time.sleep(_LOOK_S / 10)
        found = self._names()
        facts = {found[address]: each for address, each in self._client.run(tell).items()}
        checked(facts, self._terms)
        return facts

    def _names(self) -> dict[str, str]:
        found = names(self._client)
        self._seen.update(dict.fromkeys(found.values(), time.monotonic()))
        return found

    def within_reach(self) -> frozenset[str]:
        with suppress(OSError):
            self._names()
        now = time.monotonic()
        return frozenset(name for name, seen in self._seen.items() if now - seen < GONE_S) - self._out.keys()

    def submit(self, order: BlockOrder) -> None:
        if order.block not in self._pending:
            self._pending[order.block] = _Ordered(order)
            self._begin(order.block)

    def _begin(self, block: int, workers: list[str] | None = None) -> None:
        ordered = self._pending[block]
        # Dask warns of what it takes for a mistake, tasks of more than 10 MB; ours hold the user's files.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": ORDER_BYTES}):
            future = self._client.submit(
                self._work,
                self._order(ordered.order),
                pure=False,
                workers=workers,
                allow_other_workers=workers is not None,
            )
        self._began[future.key] = ("", time.monotonic())
        ordered.futures.append(future)

    def next_arrived(self, report: Report) -> Arrived:
        while True:
            block, future = self._next_done(report)
            ordered = self._pending[block]
            ordered.futures.remove(future)
            if future.status == "finished":
                break
            failure = future.exception() if future.status == "error" else "the scheduler is gone"
            if isinstance(failure, worker.HostError) and self._elsewhere(block, failure):
                continue
            if isinstance(failure, KilledWorker):
                # Dask blames a task for the workers that were lost while it ran. A worker that loses its link is
                # lost to Dask as well, and a block runs in a process of its own: mostly it is the link that breaks.
                self._given_up[block] += 1
                if self._given_up[block] <= _GIVEN_UP:
                    if not ordered.futures:
                        self._begin(block)
                    continue
            if not ordered.futures:
                failed = "; ".join(f"{host}: {reason}" for host, reason in self._failed.get(block, {}).items())
                raise host_failed(block, failed or str(failure).strip())
        del self._pending[block]
        if ordered.futures:
            self._client.cancel(ordered.futures, force=True)
        host, shipped = future.result()
        failed_hosts = self._failed.pop(block, {})  # another one ran the block: it is their disk, or a missing program
        self._out.update(failed_hosts)
        leave = [address for address, name in self._names().items() if name in failed_hosts]
        if leave:
            self._client.retire_workers(leave, remove=False)  # so that they know that this is meant
            report([HostState(name, failed=reason) for name, reason in self._out.items()])
        self._pace.ended(str(host), time.monotonic() - self._began[future.key][1])
        return Arrived(block, str(host), tuple(Parcel(*each) for each in shipped))

    def _elsewhere(self, block: int, failure: worker.HostError) -> bool:
        """Begin a block that one host could not run on others; False where a second one could not either."""
        failed = self._failed.setdefault(block, {})
        failed[failure.host] = failure.reason
        others = [address for address, name in self._names().items() if name not in failed]
        if len(failed) > 1 or not others:
            return False
        if not self._pending[block].futures:
            self._begin(block, others)
        return True

    def _next_done(self, report: Report) -> tuple[int, Future]:
        while True:
            futures = {each: block for block, ordered in self._pending.items() for each in ordered.futures}
            with suppress(TimeoutError), self._client.as_current():
                done = wait(list(futures), timeout=_LOOK_S, return_when="FIRST_COMPLETED").done
                return next((futures[each], each) for each in futures if each in done)
            with suppress(OSError):  # the scheduler does not answer: if it is gone, the blocks say so
                self._look(report)
            if not self.within_reach():  # they wait for a host at the scheduler, for as long as it is there
                out = "".join(f"; {host} was left out: {reason}" for host, reason in self._out.items())
                raise FleetError(
                    f"no host has answered for {GONE_S:.0f} s{out}", "start the workers again, and resume the run"
                )

    def _look(self, report: Report) -> None:
        """Report what each host does, and begin what is late on a free one; raises `FleetError` where all hang."""
        blocks = {each.key: block for block, ordered in self._pending.items() for each in ordered.futures}
        processing = self._client.sync(self._client.scheduler.processing, workers=None, callback_timeout=ANSWER_S)
        held = {address: [key for key in keys if key in blocks] for address, keys in processing.items()}
        states, free, late = [], [], []
        for address, name in self._names().items():
            keys = held.get(address, [])
            for key in keys:
                if self._began[key][0] != address:
                    self._began[key] = (address, time.monotonic())
            if keys:
                oldest = min(keys, key=lambda key: self._began[key][1])
                seconds = time.monotonic() - self._began[oldest][1]
                usual_s, late_now = self._pace.usual_s(name), self._pace.late(name, seconds)
                states.append(HostState(name, blocks[oldest], seconds, usual_s, late_now))
                if states[-1].late:
                    late.append(blocks[oldest])
            else:
                states.append(HostState(name))
                free.append(address)
        report([*states, *(HostState(name, failed=reason) for name, reason in self._out.items())])
        busy = [each for each in states if each.block is not None]
        no_host_free = len(self.within_reach()) <= len(busy)
        if busy and no_host_free and all(self._pace.hangs(each.host, each.seconds) for each in busy):
            raise FleetError(
                f"no host has finished its block for at least {min(each.seconds for each in busy):.0f} s:"
                f" {', '.join(each.host for each in busy)}",
                "look at their disks and processes, and resume the run",
            )
        if len(blocks) == sum(len(keys) for keys in held.values()):  # else the free hosts are about to begin the rest
            alone = (block for block in late if len(self._pending[block].futures) == 1)
            for block, address in zip(alone, free, strict=False):
                self._begin(block, [address])

    def cancel(self) -> None:
        if self._pending:
            self._client.cancel([each for ordered in self._pending.values() for each in ordered.futures], force=True)
        self._pending.clear()


def checked(facts: Mapping[str, Mapping[str, Any]], terms: Terms) -> None:
    """Raise `FleetError` for hosts with another pgassay, for workers of one machine, for hosts of several kinds."""
    for name, each in facts.items():
        if each["pgassay"] != __version__:
            raise other_version(name, str(each["pgassay"]), __version__)
    machines = [each["machine"] for each in facts.values()]
    shared = [name for name, each in facts.items() if machines.count(each["machine"]) > 1]
    if shared and not terms.shared_machine:
        raise FleetError(
            f"workers {', '.join(shared)} run on one machine, so they are one host",
            "one worker a machine; --shared-machine allows it for trying things out, and the record says so",
        )
    different = differences(facts, own_postgres=terms.own_postgres)
    if different and not terms.mixed:
        raise FleetError(
            f"the hosts are not of one kind: {'; '.join(different)}",
            "leave out those that differ, or allow it with --mixed-hosts: the effect is then one of such a mixture",
        )


def differences(facts: Mapping[str, Mapping[str, Any]], *, own_postgres: bool = False) -> list[str]:
    """What is not the same on all hosts, in words: each value with the hosts that have it."""
    found = []
    for group, name in _OF_A_KIND if own_postgres else (*_OF_A_KIND, _POSTGRES):
        values = {host: each.get("facts", {}).get(group, {}).get(name) for host, each in facts.items()}
        known = list(values.values())
        if all(isinstance(value, int) for value in known) and min(known, default=0) > 1 << 20:
            same = max(known) <= min(known) * (1 + _MEMORY_SHARE)
        else:
            same = len({str(value) for value in known}) <= 1
        if not same:
            listed = ", ".join(f"{host}: {value}" for host, value in values.items())
            found.append(f"{group} {name} ({listed})")
    return found


def other_version(host: str, theirs: str, ours: str) -> FleetError:
    """Two versions of the program in one record would be two experiments."""
    return FleetError(f"{host} has pgassay {theirs}, the head {ours}", "install the same version on all")
