"""sysbench's command line: options in, arguments out; pure. See `sysbench --help` and `sysbench oltp_read_write help`.

The endpoint is given in full, for sysbench's defaults (localhost, user sbtest) are nobody's. One thread more than the
report's interval would cost nothing; the histogram is asked for since only it holds every percentile.
"""

from pgassay.bench.places import Endpoint
from pgassay.load.sysbench.options import Options, Played
from pgassay.study.units import format_number

PROGRAM = "sysbench"
PERCENTILE = 99
"""The one percentile that sysbench reports each second."""
_SEED_MODULUS = 2**31 - 1
"""sysbench takes a signed 32-bit seed, and one of 0 would mean the time of day."""


def run_command(program: str, endpoint: Endpoint, options: Options, seed: int) -> list[str]:
    """The measured run."""
    command = [
        program,
        options.scenario,
        *shared(endpoint, options, seed),
        f"--tables={options.tables}",
        f"--table_size={options.rows}",
        f"--create_secondary={'on' if options.secondary_index else 'off'}",
        f"--rand-type={options.distribution}",
    ]
    if options.rate_tps is not None:
        command += [f"--rate={format_number(options.rate_tps)}"]
    return [*command, "run"]


def shared(endpoint: Endpoint, options: Played, seed: int) -> list[str]:
    """What every test is told: where the server is, how long and with what to play, and to report everything."""
    return [
        "--db-driver=pgsql",
        f"--pgsql-host={endpoint.socket_directory}",
        f"--pgsql-port={endpoint.port}",
        f"--pgsql-user={endpoint.user}",
        f"--pgsql-db={endpoint.database}",
        f"--db-ps-mode={options.ps_mode}",
        f"--threads={options.threads}",
        f"--rand-seed={seed % _SEED_MODULUS + 1}",
        "--report-interval=1",
        f"--percentile={PERCENTILE}",
        "--histogram=on",
        *_length(options),
    ]


def _length(options: Played) -> list[str]:
    """A time, or as many events as all threads' transactions."""
    if options.duration_s is not None:
        return [f"--time={options.duration_s}", "--events=0"]
    return ["--time=0", f"--events={(options.transactions or 0) * options.threads}"]
