"""sysbench's command line: options in, arguments out; pure. See `sysbench --help` and `sysbench oltp_read_write help`.

The endpoint is given in full, for sysbench's defaults (localhost, user sbtest) are nobody's. One thread more than the
report's interval would cost nothing; the histogram is asked for since only it holds every percentile.
"""

from pgassay.bench.places import Endpoint
from pgassay.load.sysbench.options import Options
from pgassay.study.units import format_number

PERCENTILE = 99
"""The one percentile that sysbench reports each second."""
SEED_MODULUS = 2**31 - 1
"""sysbench takes a signed 32-bit seed."""


def run_command(program: str, endpoint: Endpoint, options: Options, seed: int) -> list[str]:
    """The measured run. A seed of 0 would mean the time of day."""
    command = [
        program,
        options.scenario,
        "--db-driver=pgsql",
        f"--pgsql-host={endpoint.socket_directory}",
        f"--pgsql-port={endpoint.port}",
        f"--pgsql-user={endpoint.user}",
        f"--pgsql-db={endpoint.database}",
        f"--db-ps-mode={options.ps_mode}",
        f"--threads={options.threads}",
        f"--tables={options.tables}",
        f"--table_size={options.rows}",
        f"--create_secondary={'on' if options.secondary_index else 'off'}",
        f"--rand-type={options.distribution}",
        f"--rand-seed={seed % SEED_MODULUS + 1}",
        "--report-interval=1",
        f"--percentile={PERCENTILE}",
        "--histogram=on",
    ]
    command += length(options.duration_s, options.transactions, options.threads)
    if options.rate_tps is not None:
        command += [f"--rate={format_number(options.rate_tps)}"]
    return [*command, "run"]


def length(duration_s: int | None, transactions: int | None, threads: int) -> list[str]:
    """A time, or as many events as all threads' transactions."""
    if duration_s is not None:
        return [f"--time={duration_s}", "--events=0"]
    return ["--time=0", f"--events={(transactions or 0) * threads}"]
