"""The options of a sysbench-tpcc load as checked values, and where its Lua files are."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pgassay.load import messages, values
from pgassay.load.sysbench.options import PROTOCOLS, Played

SCRIPT = "tpcc.lua"
DEFAULTS: Mapping[str, str] = {
    "warehouses": "1",
    "threads": "1",
    "protocol": "simple",
    "duration": "60s",
    "transactions": values.NONE,
    "lua": values.NONE,
}
"""The scripts build every statement as a text, so prepared ones have nothing to gain."""


@dataclass(frozen=True, kw_only=True)
class Options(Played):
    """A sysbench-tpcc load; `lua` is the folder that was named, None for the one in PATH."""

    warehouses: int
    lua: Path | None


def read_options(levels: Mapping[str, str]) -> Options:
    """The options for these levels (names without `load.`); raises `UsageError`."""
    given = {**DEFAULTS, **levels}
    if given["protocol"] not in PROTOCOLS:
        raise messages.not_a_choice("load.protocol", given["protocol"], tuple(PROTOCOLS))
    transactions = values.parse_optional_count("load.transactions", given["transactions"])
    return Options(
        warehouses=values.parse_count("load.warehouses", given["warehouses"]),
        threads=values.parse_count("load.threads", given["threads"]),
        protocol=given["protocol"],
        duration_s=None if transactions else values.parse_seconds("load.duration", given["duration"]),
        transactions=transactions,
        lua=values.parse_path("load.lua", given["lua"]),
    )


def folder_of(options: Options) -> Path:
    """Where the Lua files are; raises `UsageError` where there is no `tpcc.lua`."""
    if options.lua is not None:
        if not (options.lua / SCRIPT).is_file():
            raise messages.no_lua(options.lua)
        return options.lua
    found = shutil.which(SCRIPT)
    if found is None:
        raise messages.no_lua(None)
    return Path(found).resolve().parent
