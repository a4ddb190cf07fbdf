"""sysbench's command line: options in, arguments out; pure. See `sysbench --help` and `sysbench oltp_read_write help`.

The endpoint is given in full, for sysbench's defaults (localhost, user sbtest) are nobody's. One thread more than the
report's interval would cost nothing; the histogram is asked for since only it holds every percentile.
"""

from pgassay.bench.places import Endpoint
from pgassay.load.sysbench.options import Options
from pgassay.study.units import format_number

PERCENTILE = 99
"""The one percentile that sysbench reports each second."""
_SEED_MODULUS = 2**31 - 1


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
        f"--rand-seed={seed % _SEED_MODULUS + 1}",
        "--report-interval=1",
        f"--percentile={PERCENTILE}",
        "--histogram=on",
    ]
    if options.duration_s is not None:
        command += [f"--time={options.duration_s}", "--events=0"]
    else:
        command += ["--time=0", f"--events={(options.transactions or 0) * options.threads}"]
    if options.rate_tps is not None:
        command += [f"--rate={format_number(options.rate_tps)}"]
    return [*command, "run"]
