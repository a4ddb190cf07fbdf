"""Every message of the loads, in PostgreSQL's manner: lower case, no full stop, with a hint where one helps."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from pgassay.bench.errors import LoadError
from pgassay.errors import UsageError

SYSBENCH_HINT = "it is the package sysbench: apt install sysbench, dnf install sysbench (EPEL)"
FIO_HINT = "it is the package fio: apt install fio, dnf install fio"


def not_a_row(name: str, text: str, least: int, most: int) -> UsageError:
    """A level that must be the bytes of a row, within bounds."""
    return UsageError(
        f'"{name}" must be the bytes of a row from {least} to {most}, not "{text}"', "pgbench's own has 100"
    )


def not_a_rate(name: str, text: str) -> UsageError:
    """A level that must be a rate of transactions."""
    return UsageError(f'"{name}" must be transactions per second, or none, not "{text}"', "for example 500")


def not_a_limit(name: str, text: str) -> UsageError:
    """A level that must be a latency."""
    return UsageError(f'"{name}" must be a length of time, or none, not "{text}"', 'for example "20ms"')


def not_a_host(name: str, text: str) -> UsageError:
    """A level that must name a host."""
    return UsageError(
        f'"{name}" must be here, loopback or the name of a worker, not "{text}"',
        "as its --name says: letters, digits, . _ -",
    )


def no_cores_there(cores: str, host: str) -> UsageError:
    """What is left over, and NUMA nodes, are this machine's."""
    return UsageError(
        f'"load.cores" = {cores} says nothing on the host "{host}"', "give a list of its CPUs, such as 0-3, or all"
    )


def no_client(name: str) -> UsageError:
    """`load.host` names a worker, and no scheduler is named that would know it."""
    return UsageError(
        f'"load.host" names the worker "{name}", and nothing leads to it',
        "--scheduler tls://HOST:PORT names the scheduler that the worker is connected to; here and loopback need none",
    )


def no_network_path(reason: str) -> LoadError:
    """The server did not answer over TCP once the load was over."""
    return LoadError(f"could not measure the network between client and server: {reason}")


def not_a_multiple(name: str, text: str) -> UsageError:
    """A level that must be a multiple of the rows."""
    return UsageError(
        f'"{name}" must be none or a multiple of the number of rows, not "{text}"',
        'for example "2x": that many updates for each row before the snapshot',
    )


def foreign_option(name: str, driver: str, owners: Iterable[str], known: Iterable[str]) -> UsageError:
    """An option that belongs to another driver than the study's."""
    return UsageError(
        f'"{name}" is not an option of the load "{driver}", but of {" and ".join(owners)}',
        f"{driver} takes: {', '.join(known)}",
    )


def bad_weight(text: str) -> UsageError:
    """A script's weight is not a number."""
    return UsageError(f'the weight in script "{text}" is not a whole number', "for example new_order.sql@45")


def missing_script(path: Path, builtins: Iterable[str], near: str | None) -> UsageError:
    """Neither a built-in script nor a file."""
    hint = f'did you mean "{near}"?' if near else f"give a file, or one of pgbench's own: {', '.join(builtins)}"
    return UsageError(f'script "{path}" does not exist', hint)


def missing_init(path: Path) -> UsageError:
    """The user's schema and data are not there."""
    return UsageError(f'init file "{path}" does not exist', 'give SQL for psql or a dump for pg_restore, or "none"')


def missing_program(path: Path, what_for: str) -> UsageError:
    """The installation lacks a client program."""
    return UsageError(
        f'"{path}" does not exist, {what_for}', "install PostgreSQL's client programs, or name --pg-bindir"
    )


def needs_version(option: str, least: int, found: str) -> UsageError:
    """An option that this pgbench does not know yet."""
    return UsageError(f'"{option}" needs pgbench {least} or later, this is {found}')


def no_age_for_own_data() -> UsageError:
    """Only pgbench's own tables can be aged."""
    return UsageError(
        '"load.age" updates pgbench\'s own tables, not those of "load.init"', "age the data in the init file"
    )


def no_rows_for_own_data(name: str) -> UsageError:
    """Only the rows of pgbench's own table can be made wider."""
    return UsageError(
        f'"{name}" changes pgbench\'s own table, not those of "load.init"', "define wider rows in the init file"
    )


def too_many_rows(name: str, rows: int, most: int) -> UsageError:
    """More rows than sysbench's INTEGER keys can number."""
    return UsageError(f'"{name}" = {rows} is more than the {most} that an INTEGER key can number', "raise load.tables")


def filling_failed(detail: str) -> LoadError:
    """A COPY or an index build failed."""
    return LoadError(f"the tables could not be filled: {detail.splitlines()[0]}")


def unknown_version(path: Path, text: str) -> LoadError:
    """`pgbench --version` says something else."""
    return LoadError(f'"{path}" does not say which version it is: "{text.strip()[:80]}"')


def preparing_failed(what: str, status: int, text: str) -> LoadError:
    """A program that prepares data failed."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    wrong = [line for line in lines if "error" in line.lower() or "fatal" in line.lower()]
    detail = (wrong or lines or ["no message"])[0 if wrong else -1]
    return LoadError(f"{what} failed with status {status}: {detail.strip()}")


def not_a_summary(why: str) -> LoadError:
    """pgbench printed an unrecognised summary."""
    return LoadError(
        f"pgbench's summary has an unrecognised format: {why}",
        "pgassay reads pgbench 13 to 18; see pgbench.out in the trial",
    )


def not_a_table_size(name: str, text: str) -> UsageError:
    """A level that must be the size of cacheprobe's table."""
    return UsageError(
        f'"{name}" must be rows, bytes or a multiple of the memory, at least 1000 rows, not "{text}"',
        'for example "75000000rows", "16GB", "2x"',
    )


def no_length(driver: str) -> UsageError:
    """A duration for a load that ends when its work is done."""
    return UsageError(f'"load.duration" cannot be given for {driver}, which ends when its work is done', "leave it out")


def needs_warm_up(driver: str) -> UsageError:
    """Without one, the caches would be in no known state."""
    return UsageError(f'{driver} needs a "load.warmup" of at least 1s', "its authors took 100s")


def copy_failed(table: str, detail: str) -> LoadError:
    """The server did not take the rows."""
    lines = detail.strip().splitlines() or ["no message"]
    return LoadError(f"loading {table} failed: {lines[0]}")


def fio_needs_warmup() -> UsageError:
    """The file would be laid out inside the window."""
    return UsageError(
        'the driver fio needs "load.warmup" of at least 1s', "the warm-up lays its file out, outside the window"
    )


def not_an_io_size(name: str, text: str) -> UsageError:
    """A level that must be the size of one I/O."""
    return UsageError(f'"{name}" must be a multiple of 512 bytes up to 16MB, not "{text}"', 'for example "8kB"')


def not_a_file_size(name: str, text: str, least: str) -> UsageError:
    """A level that must be the size of fio's file."""
    return UsageError(f'"{name}" must be at least {least}, not "{text}"', 'for example "1GB"')


def file_too_small(size: str, threads: int) -> UsageError:
    """Too many threads for the file."""
    return UsageError(f'"load.file_size" of {size} is too small for {threads} threads', "give a larger file")


def not_for_fileio(what: str) -> UsageError:
    """A pattern that sysbench fileio cannot make."""
    return UsageError(f'sysbench fileio cannot do "{what}"', 'use "load.tool" = fio')


def not_a_fio_result(detail: str) -> LoadError:
    """fio printed an unrecognised result."""
    return LoadError(f"the output of fio has an unrecognised format: {detail}", "see fio.out in the trial")


def not_cores(name: str, text: str) -> UsageError:
    """A level that must name CPUs."""
    return UsageError(
        f'"{name}" must be all, rest, a list of CPUs or NUMA nodes, not "{text}"',
        'for example "2-3", "0,2" or "node:1"',
    )


def no_such_nodes(cores: str, there: str) -> UsageError:
    """NUMA nodes without a CPU for us."""
    return UsageError(f'"load.cores" of {cores}: no such NUMA node has CPUs', f"there are: {there or 'none'}")


def no_binding(cores: str, reason: str) -> UsageError:
    """The kernel, or the container, lets no program of ours choose its memory."""
    return UsageError(
        f'"load.cores" of {cores} binds the memory of the program to its node, which is refused here: {reason.lower()}',
        "containers need SYS_NICE; a list of CPUs binds no memory",
    )


def no_such_cores(text: str, missing: str, there: int) -> UsageError:
    """CPUs that this machine does not have, or that pgassay may not use."""
    return UsageError(
        f'"load.cores" of {text} names CPUs that are not available: {missing}', f"{there} CPUs are available"
    )


def no_lua(folder: Path | None) -> UsageError:
    """The scripts of sysbench-tpcc are not there."""
    return UsageError(
        f'"{folder}" has no tpcc.lua' if folder else "there is no tpcc.lua in PATH",
        'name the folder of github.com/Percona-Lab/sysbench-tpcc with load.lua, or use load.driver = "tpcc"',
    )


def no_player() -> LoadError:
    """The program that plays loads in slices was not built."""
    return LoadError(
        "the program pgassay-player, which plays loads in slices, is not installed",
        "build it with: make setup; or name it in $PGASSAY_PLAYER",
    )


def cannot_play(said: str, hint: str) -> UsageError:
    """A script that the player does not know, or a log that it cannot play, in its own words."""
    return UsageError(said, hint)


PLAYS_THE_REST = "pgbench itself may know it; the player takes the rest of pgbench's script language"

LOGS_ARE_READ = "log_min_duration_statement = 0 logs what a replay needs; load.log_prefix is the log_line_prefix"


def not_a_speed(name: str, text: str) -> UsageError:
    """A level that must be a multiple of the log's own speed."""
    return UsageError(f'"{name}" must be a multiple of the log\'s own speed, not "{text}"', 'for example "2x"')


def not_a_share(name: str, text: str) -> UsageError:
    """A level that must be a share."""
    return UsageError(f'"{name}" must be a share up to 100%, not "{text}"', 'for example "5%"')


def no_log_named() -> UsageError:
    """A replay of nothing."""
    return UsageError("the load replay needs a log", 'name its files in order: "load.log" = ["postgresql.log"]')


def missing_log(path: Path) -> UsageError:
    """The log is not there."""
    return UsageError(f'log "{path}" does not exist', "give PostgreSQL's log in stderr's format, csvlog or jsonlog")


def short_log(length_s: float, wanted_s: int, warmup_s: int) -> UsageError:
    """The log ends before the trial."""
    hint = f"shorten them to {int(length_s)} s together" if length_s >= 1 else "give a longer log"
    return UsageError(
        f"the log is {length_s:.1f} s long at this speed, and load.warmup and load.duration ask for {wanted_s} s",
        f"{hint}, or lower load.speed" if warmup_s < length_s else hint,
    )


def log_too_large(host: str, size_bytes: int, most_bytes: int) -> UsageError:
    """A log that would have to travel for each trial."""
    return UsageError(
        f'the log has {size_bytes >> 20} MiB, and no more than {most_bytes >> 20} MiB are sent to the host "{host}"',
        "give a shorter log, or play it here: load.host = loopback",
    )


def quiet_log(from_s: int, until_s: int) -> UsageError:
    """The window has nothing to play."""
    return UsageError(f"the log has no call between {from_s} s and {until_s} s", "choose another warm-up or duration")


def mostly_left_out(calls: int, commands: int, without_parameters: int, half: int) -> UsageError:
    """More of the log is left out than played."""
    parts = (
        (without_parameters, "without their parameters"),
        (commands, "of commands that are not played"),
        (half, "of transactions that begin before the log"),
    )
    named = ", ".join(f"{count} {what}" for count, what in parts if count)
    return UsageError(
        f"only {calls} of the log's {calls + commands + without_parameters + half} calls can be played: {named}",
        "parameters are logged with log_parameter_max_length = -1",
    )


def mostly_unread(unread: int, first: str) -> UsageError:
    """More records of the log are damaged than are calls."""
    return UsageError(
        f"{unread} records of the log cannot be read, more than it has calls; the first is: {first}",
        "load.log_prefix must be the log_line_prefix that it was written with, a line for each",
    )


def no_data_to_replay() -> LoadError:
    """Nothing says on which data the log is played."""
    return LoadError(
        "the load replay has no data to play its log on",
        "load.init names a dump or SQL, init.copy_of a copied data directory",
    )


def not_in_slices(driver: str, why: str) -> str:
    """Why a load that can be played in slices cannot with these options."""
    return f'the load "{driver}" cannot be played in slices: {why}'


SKIPS = "with both load.rate and load.latency_limit it skips transactions that are late already"

ONE_STRETCH = "what waits at the end of a slice would not be carried into the next, and a log has one schedule"


def no_core_left() -> LoadError:
    """The server may use every CPU, so `rest` is none."""
    return LoadError('the server may use every CPU, so "load.cores" = rest leaves none', 'set "host.cores"')


def no_rest() -> UsageError:
    """For `load.cores = rest` in a study whose servers may all use every CPU."""
    return UsageError(
        '"load.cores" = rest leaves the load no CPU: every server of this study may use all of them',
        "say which ones the server has with host.cores: --set host.cores=1 leaves the others to the load",
    )


def no_rest_here(there: int) -> UsageError:
    """Likewise where `host.cores` takes all that this machine has."""
    return UsageError(
        f'"load.cores" = rest leaves the load no CPU: "host.cores" takes all {there} of this machine everywhere',
        "give the server fewer with host.cores, or leave load.cores out",
    )


def player_ended(said: str) -> LoadError:
    """The player could not connect, or ended before it was asked to."""
    return LoadError(f"the player of slices ended: {said or 'it said nothing'}")


def sums_differ(sums: Mapping[str, int]) -> str:
    """A transaction is there in part."""
    return "a transaction is there in part: sums of " + ", ".join(f"{name} {amount}" for name, amount in sums.items())
