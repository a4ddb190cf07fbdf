"""The options of a pgbench load as checked values, read from the canonical texts of the `load.*` levels.

Defaults are pgbench's own (PostgreSQL manual, "pgbench"), except that a run lasts 60 s where nothing else is said.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pgassay.load import messages, values
from pgassay.load.pgbench.scripts import Script, parse_scripts
from pgassay.load.placing import parse_cores
from pgassay.load.shared_factors import PROTOCOLS

DEFAULTS: Mapping[str, str] = {
    "script": "tpcb-like",
    "protocol": "simple",
    "scale": "1",
    "clients": "1",
    "jobs": "1",
    "cores": "all",
    "duration": "60s",
    "transactions": "none",
    "rate": "none",
    "warmup": "0s",
    "max_tries": "1",
    "latency_limit": "none",
    "init": "none",
    "age": "none",
    "row_bytes": "none",
    "row_storage": "none",
    "keep_log": "off",
}


@dataclass(frozen=True)
class Options:
    """A pgbench load. Exactly one of `duration_s` and `transactions` (of each client) is set; the latter prevails."""

    scripts: tuple[Script, ...]
    protocol: str
    scale: int
    clients: int
    jobs: int
    cores: str
    """The CPUs of the program: `all`, `rest` or `cpu:LIST`."""
    jobs_follow: bool
    """Were as many threads as clients asked for, whatever their number?"""
    duration_s: int | None
    transactions: int | None
    rate_tps: float | None
    warmup_s: int
    max_tries: int
    latency_limit_ms: float | None
    init: Path | None
    age: float
    keep_log: bool
    row_bytes: int | None = None
    """Of an account; None for pgbench's own table."""
    row_storage: str | None = None

    @property
    def threads(self) -> int:
        """pgbench never runs more threads than clients."""
        return min(self.jobs, self.clients)

    @property
    def custom(self) -> bool:
        """Are all scripts the user's own?"""
        return not any(script.builtin for script in self.scripts)


def read_options(levels: Mapping[str, str]) -> Options:
    """The options for these levels (names without `load.`); raises `UsageError`."""
    given = {**DEFAULTS, **levels}
    clients = values.parse_count("load.clients", given["clients"])
    jobs_follow = given["jobs"] == values.CLIENTS
    transactions = values.parse_optional_count("load.transactions", given["transactions"])
    if given["protocol"] not in PROTOCOLS:
        raise messages.not_a_choice("load.protocol", given["protocol"], PROTOCOLS)
    return Options(
        scripts=parse_scripts(given["script"]),
        protocol=given["protocol"],
        scale=values.parse_count("load.scale", given["scale"]),
        clients=clients,
        jobs=clients if jobs_follow else values.parse_count("load.jobs", given["jobs"]),
        cores=parse_cores("load.cores", given["cores"]),
        jobs_follow=jobs_follow,
        duration_s=None if transactions else values.parse_seconds("load.duration", given["duration"]),
        transactions=transactions,
        rate_tps=values.parse_rate("load.rate", given["rate"]),
        warmup_s=values.parse_seconds("load.warmup", given["warmup"], least=0),
        max_tries=values.parse_count("load.max_tries", given["max_tries"]),
        latency_limit_ms=values.parse_limit_ms("load.latency_limit", given["latency_limit"]),
        init=values.parse_path("load.init", given["init"]),
        age=values.parse_multiple("load.age", given["age"]),
        keep_log=values.parse_switch("load.keep_log", given["keep_log"]),
        row_bytes=_width(given["row_bytes"]),
        row_storage=None if given["row_storage"] == values.NONE else given["row_storage"],
    )


def _width(text: str) -> int | None:
    return None if text == values.NONE else values.parse_row_bytes("load.row_bytes", text)
