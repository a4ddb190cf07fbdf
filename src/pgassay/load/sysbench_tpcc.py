"""sysbench with Percona's TPC-C scripts as a load: their transactions on tables that we fill.

Their `prepare` sleeps half a minute and knows no table options for PostgreSQL; so tables are made under their names
(`warehouse1`, `new_orders1` …) and filled by COPY. READ COMMITTED: their default gives up every seventh transaction.
The scripts build every statement as a text, so prepared ones have nothing to gain. TPC-C-like, not audited.
"""

from dataclasses import dataclass
from pathlib import Path

from pgassay import children
from pgassay.bench.kinds import PATH, choice, optional
from pgassay.bench.load import Driver, LoadResult
from pgassay.bench.options import option
from pgassay.bench.places import Endpoint
from pgassay.bench.server import Server
from pgassay.errors import UsageError
from pgassay.load import program, sysbench
from pgassay.load import responses as shared
from pgassay.load.options import WarehouseOptions
from pgassay.load.sysbench import PROGRAM, PROTOCOLS, SYSBENCH_HINT, SysbenchClientOptions, client_arguments
from pgassay.load.tpcc.driver import TABLES, Names, TpccTables
from pgassay.study.responses import Better, Response, Scale

SCRIPT = "tpcc.lua"
NAMES: Names = {name: "new_orders1" if name == "new_order" else f"{name}1" for name in TABLES}
"""What the scripts call the tables of their first and only set."""
_FAILED = "share of transactions that failed or were rolled back as asked"
RESPONSES: tuple[Response, ...] = (
    Response("tps", "transactions per second", "1/s", Better.HIGHER),
    Response("qps", "statements per second", "1/s", Better.HIGHER),
    Response("latency_ms", "mean latency", "ms", Better.LOWER),
    *shared.LATENCIES,
    Response("failed_share", _FAILED, "share", Better.LOWER, Scale.DIFFERENCE),
)


@dataclass(frozen=True, kw_only=True)
class SysbenchTpccOptions(WarehouseOptions, SysbenchClientOptions):
    """A load by Percona's scripts; `lua` is their folder."""

    driver = "sysbench-tpcc"

    protocol: str = option(choice(*PROTOCOLS), default="simple", summary="sysbench --db-ps-mode: prepared or simple")
    lua: Path | None = option(
        optional(PATH),
        default=None,
        summary="folder of sysbench-tpcc's Lua files; none for that of a tpcc.lua in PATH",
    )


class SysbenchTpccLoad(TpccTables[SysbenchTpccOptions]):
    """The installed sysbench with the scripts that the user has."""

    names = NAMES
    responses = RESPONSES

    def check(self) -> None:
        program.check(self.options.cores, self.options.host)
        folder_of(self.options)

    def run(self, server: Server, folder: Path, seed: int) -> LoadResult:
        options, scripts = self.options, folder_of(self.options)
        folder.mkdir(parents=True, exist_ok=True)
        run = program.run(
            self.tools,
            server,
            options,
            run_command(PROGRAM, scripts, server.client_endpoint, options, seed),
            folder,
            PROGRAM,
            options.timed_s,
            environment={"LUA_PATH": f"{scripts}/?.lua;;"},
            files=sorted(scripts.glob("*.lua")),
        )
        return sysbench.result(run, RESPONSES, "", options.timed_s, self.name)


DRIVER = Driver(
    SysbenchTpccOptions,
    SysbenchTpccLoad,
    "the same under sysbench with Percona's scripts, not audited",
    program=PROGRAM,
    program_hint=SYSBENCH_HINT,
    require_scripts=lambda: folder_of(SysbenchTpccOptions()),
)


def folder_of(options: SysbenchTpccOptions) -> Path:
    """Where the Lua files are; raises `UsageError` where there is no `tpcc.lua`."""
    found = children.which(SCRIPT)
    if options.lua is not None and (options.lua / SCRIPT).is_file():
        return options.lua
    if options.lua is None and found is not None:
        return Path(found).resolve().parent
    raise UsageError(
        f'"{options.lua}" has no tpcc.lua' if options.lua else "there is no tpcc.lua in PATH",
        'name the folder of github.com/Percona-Lab/sysbench-tpcc with load.lua, or use load.driver = "tpcc"',
    )


def run_command(program: str, folder: Path, endpoint: Endpoint, options: SysbenchTpccOptions, seed: int) -> list[str]:
    """The arguments of the measured run; `folder` has the scripts."""
    return [
        program,
        str(folder / SCRIPT),
        *client_arguments(endpoint, options, seed),
        "--trx_level=RC",
        "--tables=1",
        f"--scale={options.warehouses}",
        "run",
    ]
