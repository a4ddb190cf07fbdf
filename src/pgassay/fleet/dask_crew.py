"""The crew behind a Dask scheduler: a block is a task, a host is a worker with one thread.

Dask brings tasks to workers, and to another worker when one is lost; what it does not know is that two workers on one
machine are one host, and that hosts of several kinds make another question. That is asked before the first block.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from distributed import Client, Future, Security, wait

from pgassay import __version__
from pgassay.fleet import messages, task
from pgassay.fleet.addresses import Address
from pgassay.fleet.blocks import BlockOrder
from pgassay.fleet.certificates import Credentials
from pgassay.fleet.parcels import Arrived, Parcel

WAIT_S = 60.0
"""How long to wait for a scheduler, and for its workers."""
_LOOK_S = 2.0
_OF_A_KIND = (
    ("cpu", "model"), ("cpu", "usable_processors"), ("memory", "total_bytes"), ("kernel", "release"),
    ("storage.data", "filesystem"), ("storage.data", "model"),
)  # fmt: skip
"""Facts by which hosts are of one kind. Memory may differ by what a kernel keeps of it."""
_POSTGRES = ("postgres", "version")
"""Another such fact, where the study does not say which PostgreSQL serves."""
_MEMORY_SHARE = 0.02

Work = Callable[[bytes], task.Shipped]


@dataclass(frozen=True)
class Terms:
    """What the user allows of the hosts."""

    hosts: int
    shared_machine: bool = False
    mixed: bool = False
    own_postgres: bool = False
    """Does the study say which PostgreSQL serves?"""
    wait_s: float = WAIT_S


def security(credentials: Credentials) -> Security:
    """TLS, both ends with a certificate of the fleet's authority, nothing plain accepted."""
    ca, certificate, key = (str(path) for path in (credentials.authority, credentials.certificate, credentials.key))
    return Security(
        tls_ca_file=ca,
        tls_client_cert=certificate,
        tls_client_key=key,
        tls_worker_cert=certificate,
        tls_worker_key=key,
        require_encryption=True,
    )


def connect(address: Address, credentials: Credentials | None, wait_s: float = WAIT_S) -> Client:
    """A client of the scheduler at `address`; raises `FleetError` where none answers."""
    with_tls = {} if credentials is None else {"security": security(credentials)}
    try:
        return Client(address.text, timeout=wait_s, set_as_default=False, **with_tls)
    except (OSError, TimeoutError) as error:
        raise messages.no_scheduler(address.text, str(error) or type(error).__name__) from None


class DaskCrew:
    """Workers of a scheduler; `order` makes the bytes that a worker gets of a block's order."""

    def __init__(
        self, client: Client, terms: Terms, order: Callable[[BlockOrder], bytes], work: Work = task.work
    ) -> None:
        self._client = client
        self._terms = terms
        self._order = order
        self._work = work
        self._pending: dict[int, Future] = {}

    @property
    def hosts(self) -> int:
        return self._terms.hosts

    def gather(self, tell: Callable[[], Mapping[str, Any]] = task.facts) -> dict[str, Mapping[str, Any]]:
        """Wait for the hosts, and check them; returns their facts by name. Raises `FleetError`."""
        wanted, until = self._terms.hosts, time.monotonic() + self._terms.wait_s
        while (found := self._known()) < wanted:
            if time.monotonic() > until:
                raise messages.too_few_hosts(found, wanted, self._terms.wait_s)
            time.sleep(_LOOK_S / 10)
        names = {address: str(each["name"]) for address, each in self._client.scheduler_info(-1)["workers"].items()}
        facts = {names[address]: each for address, each in self._client.run(tell).items()}
        checked(facts, self._terms)
        return facts

    def _known(self) -> int:
        return len(self._client.scheduler_info(-1)["workers"])

    def submit(self, order: BlockOrder) -> None:
        if order.block not in self._pending:
            self._pending[order.block] = self._client.submit(self._work, self._order(order), pure=False)

    def next_arrived(self) -> Arrived:
        while True:
            with suppress(TimeoutError), self._client.as_current():
                done = wait(list(self._pending.values()), timeout=_LOOK_S, return_when="FIRST_COMPLETED").done
                block, future = next((block, each) for block, each in self._pending.items() if each in done)
                break
        del self._pending[block]
        if future.status != "finished":
            told = future.exception() if future.status == "error" else messages.SCHEDULER_LOST
            raise messages.host_failed(block, str(told).strip())
        host, shipped = future.result()
        return Arrived(block, str(host), tuple(Parcel(*each) for each in shipped))

    def cancel(self) -> None:
        if self._pending:
            self._client.cancel(list(self._pending.values()), force=True)
        self._pending.clear()


def checked(facts: Mapping[str, Mapping[str, Any]], terms: Terms) -> None:
    """Raise `FleetError` for hosts with another pgassay, for workers of one machine, for hosts of several kinds."""
    for name, each in facts.items():
        if each["pgassay"] != __version__:
            raise messages.other_version(name, str(each["pgassay"]), __version__)
    machines = [each["machine"] for each in facts.values()]
    shared = [name for name, each in facts.items() if machines.count(each["machine"]) > 1]
    if shared and not terms.shared_machine:
        raise messages.same_machine(shared)
    different = differences(facts, own_postgres=terms.own_postgres)
    if different and not terms.mixed:
        raise messages.differing(different)


def differences(facts: Mapping[str, Mapping[str, Any]], *, own_postgres: bool = False) -> list[str]:
    """What is not the same on all hosts, in words: each value with the hosts that have it."""
    found = []
    for group, name in _OF_A_KIND if own_postgres else (*_OF_A_KIND, _POSTGRES):
        values = {host: each.get("facts", {}).get(group, {}).get(name) for host, each in facts.items()}
        if not _same(list(values.values())):
            told = ", ".join(f"{host}: {value}" for host, value in values.items())
            found.append(f"{group} {name} ({told})")
    return found


def _same(values: Sequence[Any]) -> bool:
    if all(isinstance(value, int) for value in values) and min(values, default=0) > 1 << 20:
        return bool(max(values) <= min(values) * (1 + _MEMORY_SHARE))
    return len({str(value) for value in values}) <= 1
