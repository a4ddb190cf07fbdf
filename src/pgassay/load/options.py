"""Options that several drivers have, each declared once, and the kinds of values that only loads take.

A driver's own options derive from the classes here that fit it, so that a level means the same to all of them.
"""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, TypeVar

from pgassay.errors import UsageError
from pgassay.interfaces.client import HERE, LOOPBACK
from pgassay.interfaces.factor import IN_MEMORY, Stage, Turns
from pgassay.interfaces.hosting import parse_list
from pgassay.interfaces.kinds import NONE, ROWS, SWITCH, Kind, choice, is_number, optional, seconds, whole
from pgassay.interfaces.load import LoadOptions
from pgassay.interfaces.options import option, rows_of
from pgassay.interfaces.server import READY_S
from pgassay.study.document import ALONG, COUNT_LEVELS, COUNTED_LOAD
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import format_number, parse_boolean, parse_time_ms, parse_whole

Value = TypeVar("Value")
ALL, REST = "all", "rest"
"""Words of `load.cores`."""
LEAN, OWN = "lean", "own"
"""Settings of servers that recover after a power cut."""
PROTOCOLS = ("simple", "extended", "prepared")
BYTES_PER_WAREHOUSE = 110_000_000
"""Heap and indexes as filled (about 95 MB at 8 kB pages), with some air."""
BYTES_OF_ITEMS = 12_000_000
_INIT_GROWTH = 4
"""Loaded data against the file they come from: indexes and page headers, or a dump's compression."""
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
SHORTER = 10
"""The shorter window of a counted trial has a tenth of the transactions of the longer one."""
CLIENTS = "clients"
"""As many threads as clients."""
OPEN_LOOP = Turns("what waits at the end of a slice is not carried into the next one")
OTHER_LOAD = Turns("belongs to a load that cannot be played in slices", one_value=True)


def kind(
    convert: Callable[[str], Value | None], show: Callable[[Value], str], accepts: str, *, must: str, hint: str
) -> Kind[Value]:
    """A kind of value: `convert` gives None or raises `UsageError` for a text that is none; `must` says what it is."""

    def parse(name: str, text: str) -> Value:
        found = None
        with suppress(UsageError):
            found = convert(text.strip())
        if found is None:
            raise UsageError(f'"{name}" must be {must}, not "{text}"', hint)
        return found

    return Kind(parse, show, accepts)


def split_list(text: str) -> list[str]:
    """The items of a list, which commas part, or lines where an item may hold a comma."""
    return [part.strip() for part in (text.splitlines() if "\n" in text else text.split(",")) if part.strip()]


def join_list(items: Iterable[str]) -> str:
    """The canonical text of a list; see `split_list`."""
    parts = tuple(items)
    return ("\n" if any("," in part for part in parts) else ",").join(parts)


def positive(text: str) -> float | None:
    return float(text) if is_number(text) and float(text) > 0 else None


def _latency_ms(text: str) -> float | None:
    limit_ms = float(text) if is_number(text) else parse_time_ms(text)
    return limit_ms if limit_ms > 0 else None


def _age(text: str) -> float | None:
    return 0.0 if text == NONE else positive(text.removesuffix("x")) if text.endswith("x") else None


def _count(text: str) -> str | None:
    word, colon, number = text.partition(":")
    if word != ALONG:
        return text if text in COUNT_LEVELS else "on" if parse_boolean(text) else "off"
    transactions = parse_whole(number if colon else COUNTED_LOAD["transactions"])
    return f"{ALONG}:{transactions}" if transactions else None


def _cores(text: str) -> str | None:
    word = text.removeprefix("cpu:")
    if word in (ALL, REST):
        return word
    listed = parse_list(word)
    return f"cpu:{','.join(map(str, listed))}" if listed else None


RATE = optional(
    kind(
        positive,
        format_number,
        "transactions per second",
        must="transactions per second, or none",
        hint="for example 500",
    )
)
"""Transactions per second; None for as many as possible."""
LATENCY = optional(
    kind(
        _latency_ms,
        lambda limit_ms: f"{format_number(limit_ms)}ms",
        "a length of time: 20ms",
        must="a length of time, or none",
        hint='for example "20ms"',
    )
)
"""A latency in ms (bare numbers are ms, as pgbench's are)."""
AGE: Kind[float] = replace(
    kind(
        _age,
        lambda multiple: f"{format_number(multiple)}x" if multiple else NONE,
        "2x, or none",
        must="none or a multiple of the number of rows",
        hint='for example "2x": that many updates for each row before the snapshot',
    ),
    takes_none=True,
)
"""A multiple of the table's rows; `none` is 0."""
JOBS: Kind[int | None] = Kind(
    lambda name, text: None if text.strip() == CLIENTS else whole().parse(name, text),
    lambda jobs: CLIENTS if jobs is None else str(jobs),
    f"a whole number from 1, or {CLIENTS}",
)
"""A number of threads; None for as many as there are clients, whatever their number in this trial."""
CORES: Kind[str] = kind(
    _cores,
    str,
    "all, rest, or a list of CPUs: 0-3,6",
    must="all, rest, or a list of CPUs",
    hint='for example "2-3" or "0,2"',
)
COUNT: Kind[str] = kind(
    _count,
    str,
    f"off, {', '.join(COUNT_LEVELS)}, {ALONG}, or {ALONG}:N transactions",
    must=f"off, {', '.join(COUNT_LEVELS)}, {ALONG} or {ALONG}:N",
    hint=f"{ALONG} counts {COUNTED_LOAD['transactions']} transactions in trials of their own, {ALONG}:50 counts 50",
)
"""Instructions instead of times, by an instrument; or along with times: in how many transactions."""
HOST: Kind[str] = kind(
    lambda text: text if _HOST.fullmatch(text) else None,
    str,
    f"{HERE}, {LOOPBACK}, or the name of a worker",
    must="here, loopback or the name of a worker",
    hint="as its --name says: letters, digits, . _ -",
)


@dataclass(frozen=True, kw_only=True)
class PlacedOptions(LoadOptions):
    """A load whose program may be given CPUs of its own."""

    turns = Turns()
    cores: str = option(CORES, default="all", summary="CPUs of the program; rest: those that the server may not use")


@dataclass(frozen=True, kw_only=True)
class RemoteOptions(PlacedOptions):
    """A load whose program can reach the server over TCP, from this host or from another."""

    turns = Turns(note="a worker reaches the servers of a block by a port each, and none of its threads is paired")
    host: str = option(
        HOST, default=HERE, summary="where the program runs: here, loopback (over TCP with TLS), or a worker's name"
    )


@dataclass(frozen=True, kw_only=True)
class CountedOptions(LoadOptions):
    """A load that runs for a length of time, or until every client has made so many transactions."""

    turns = LoadOptions.turns
    transactions: int | None = option(
        optional(whole()),
        default=None,
        summary="transactions of each client or thread, instead of a duration (pgbench -t)",
        size=ModelSize(),
    )

    def warm_up(self) -> Self:
        """For the length of the warm-up, also where the window counts transactions."""
        return replace(super().warm_up(), transactions=None)


@dataclass(frozen=True, kw_only=True)
class ThreadedOptions(PlacedOptions):
    turns = OTHER_LOAD
    threads: int = option(
        whole(), default=1, scales=True, summary="threads of the program: connections of sysbench, jobs of fio"
    )

    @property
    def connections(self) -> int:
        return self.threads


@dataclass(frozen=True, kw_only=True)
class RatedOptions(LoadOptions):
    turns = OPEN_LOOP
    rate_tps: float | None = option(
        RATE, name="rate", default=None, unit="1/s", summary="the rate offered, open loop; none for as many as possible"
    )


@dataclass(frozen=True, kw_only=True)
class OwnDataOptions(LoadOptions):
    turns = IN_MEMORY
    init: Path | None = option(
        optional(ROWS),
        default=None,
        stage=Stage.DATA,
        summary="your own schema and data: SQL for psql or a dump for pg_restore",
    )

    @property
    def own_bytes(self) -> int | None:
        """What the user's data may take once they are loaded; None where there are none."""
        return None if self.init is None else self.init.stat().st_size * _INIT_GROWTH


@dataclass(frozen=True, kw_only=True)
class WarehouseOptions(LoadOptions):
    turns = IN_MEMORY
    warehouses: int = option(
        whole(),
        default=1,
        stage=Stage.DATA,
        summary="warehouses of TPC-C (about 110 MB each)",
        read_back=rows_of("warehouse", "warehouse1"),
        size=ModelSize(1, data="warehouse"),
    )

    def estimated_bytes(self) -> int:
        return BYTES_OF_ITEMS + self.warehouses * BYTES_PER_WAREHOUSE


@dataclass(frozen=True, kw_only=True)
class CutOptions(LoadOptions):
    """A load under which the power of an emulated drive can be cut, since its data show what was lost."""

    turns = LoadOptions.turns
    cuts: int = option(
        whole(least=0),
        default=0,
        summary="power cuts during the window, on an emulated drive; see also the script ledger",
    )
    recovery: str = option(
        choice(LEAN, OWN),
        default=LEAN,
        summary="lean: quick settings for ten of eleven servers that recover after a cut; own: the treatment's",
    )
    recovery_limit: int = option(
        seconds(), default=int(READY_S), unit="s", summary="how long a server may take to recover after a cut"
    )

    @property
    def recovers_as_set(self) -> bool:
        return self.recovery == OWN

    @property
    def recovery_limit_s(self) -> float:
        return float(self.recovery_limit)


@dataclass(frozen=True, kw_only=True)
class PgbenchClientOptions(RemoteOptions, CountedOptions, RatedOptions):
    """How pgbench plays scripts, its own or those of another load."""

    turns = Turns()
    protocol: str = option(choice(*PROTOCOLS), default="simple", summary="pgbench -M: how statements are sent")
    clients: int = option(whole(), default=1, scales=True, summary="pgbench -c: concurrent connections")
    jobs: int | None = option(
        JOBS, default=1, summary="pgbench -j: threads of the program; clients for as many as there are"
    )
    latency_limit_ms: float | None = option(
        LATENCY,
        name="latency_limit",
        default=None,
        unit="ms",
        summary="pgbench -L: slower transactions count as late, or are skipped at a rate",
    )
    max_tries: int = option(
        whole(), default=1, summary="pgbench --max-tries: tries after serialization failures and deadlocks"
    )
    keep_log: bool = option(
        SWITCH,
        default=False,
        summary="keep pgbench's per-transaction log, compressed",
        turns=LoadOptions.turns,
    )
    counting: str = option(
        COUNT,
        name="count",
        default="off",
        summary="count instructions: on, instead of timing; misses, with modelled misses; hardware, by the processor;"
        " also, in trials of their own",
        turns=LoadOptions.turns,
    )

    @property
    def counted_along(self) -> int | None:
        return int(self.counting.removeprefix(f"{ALONG}:")) if self.counting.startswith(ALONG) else None

    def warm_up(self) -> Self:
        """Where instructions are counted, the shorter of two windows."""
        if self.count and self.transactions is not None:
            return replace(self, transactions=-(-self.transactions // SHORTER))
        return super().warm_up()

    @property
    def threads(self) -> int:
        """pgbench never runs more threads than clients."""
        return self.clients if self.jobs is None else min(self.jobs, self.clients)

    @property
    def connections(self) -> int:
        return self.clients
